"""Run a natural function on many rows.

rows.jsonl ──> BatchRow ──> bind_arguments ──> the function ──> RowOutcome ──> BatchStore ──> results.jsonl

run_local(...)      each row asks the model directly, on an executor: threads, processes, Dask, Ray
run_waves(...)      rows wait for their replies; the requests go to a vendor's Batch API in waves
"""
