"""The mode `reviewed`: no model writes code when the program runs.

its outputs and inputs are data   ──resolve_mode──>   live, with authority="strict"
it needs code                     ──resolve_mode──>   static: code in njc.lock, which a person signs
it needs code, and is an f-string ──find_mode_problem──>   NJ405
"""

from __future__ import annotations

from njc.compiler.analysis.authority import Authority, decide_authority
from njc.compiler.analysis.inference import TypeReader
from njc.compiler.frontend.blocks import NaturalBlock
from njc.compiler.frontend.diagnostics import Diagnostic, make_diagnostic
from njc.compiler.frontend.source import SourceFile
from njrt.data.options import Options, merge_option_layers
from njrt.data.records import replace


def is_reviewed(block: NaturalBlock, project: Options) -> bool:
    """Return whether a block has the mode `reviewed`, itself or from its file or project."""
    return (block.options.mode or project.mode) == "reviewed"


def resolve_mode(block: NaturalBlock, types: TypeReader, project: Options) -> NaturalBlock:
    """Return a block of the mode `reviewed` as a live or a static one; another block unchanged."""
    if not is_reviewed(block, project):
        return block
    options = merge_option_layers(block.options, project)
    if answers_with_data(decide_authority(block, types, project), options):
        chosen = Options(mode="live", authority="strict")
    else:
        chosen = Options(mode="static")
    return replace(block, options=merge_option_layers(chosen, block.options))


def answers_with_data(authority: Authority, options: Options) -> bool:
    """Return whether a live block answers with data, by the compiler's choice or the author's."""
    return authority.effects == "answer" or options.effects == "answer"


def may_run_code(block: NaturalBlock, authority: Authority, project: Options) -> bool:
    """Return whether a live block may run code that a model writes when the program runs."""
    options = merge_option_layers(block.options, project)
    return not (answers_with_data(authority, options) and options.authority == "strict")


def find_mode_problem(
    source: SourceFile, block: NaturalBlock, resolved: NaturalBlock, authority: Authority
) -> Diagnostic | None:
    """Return the error of a block that neither answers with data nor can have code in njc.lock."""
    if resolved is block or resolved.options.mode != "static":
        return None
    if not block.is_fstring and block.interface is None:
        return None
    kind = "its text is known only at run time" if block.is_fstring else "it has an interface"
    reason = f"{authority.reason}, and {kind}" if block.is_fstring else kind
    message = f'mode="reviewed" has no code for this block: {reason}'
    hint = authority.remedy or 'let it run code of a model: write mode="live" on the block'
    return make_diagnostic(source, "NJ405", *block.head, message, hint)
