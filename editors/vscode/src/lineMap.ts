// Which line of a compiled file a line of its source became, as the language server says.

/** From line `compiled` on: the lines of the source from `source` on, or all of them line `source`. From 0. */
export interface LineSegment {
  readonly compiled: number;
  readonly source: number;
  readonly isAuthors: boolean;
}

/** The line of the compiled file for a line of the source: the author's own, or else that of the call. */
export function findCompiledLine(segments: readonly LineSegment[], source: number): number {
  for (const [index, segment] of segments.entries()) {
    const end = segments[index + 1]?.compiled ?? Number.MAX_SAFE_INTEGER;
    const distance = source - segment.source;
    if (segment.isAuthors && distance >= 0 && distance < end - segment.compiled) {
      return segment.compiled + distance;
    }
  }
  return segments.find((segment) => segment.source === source)?.compiled ?? 0;
}
