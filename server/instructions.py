"""What a client tells its model about this server before any tool is looked up (under 2 KB)."""

INSTRUCTIONS = """\
nki-anvil makes NKI kernels for AWS Trainium faster and guarantees that they stay right. Look for its tools whenever \
the task is to write, port, check, profile or speed up an NKI kernel (nki, nki.language, nki.isa, neuronxcc, Trn2).

Order of use:
1. open_problem (a reference module, a problem folder, or seed:<name>) once; problem_status when coming back.
2. profile_kernel: what bounds the kernel. query_memory: what helped kernels like it; keep its shown_id.
3. Edit the working file: one change at a time, and know what it should gain.
4. verify_kernel after every edit. A failed verdict names the place and gives a hint.
5. benchmark_kernel after a pass: keep, revert or undecided. After `restored` read the file again.
6. record_reflexion after surprises, and when a tool asks for it with [guard.reflexion_required].
7. add_experience after a keep. finish_problem at the end: its figure is the one to report.
evaluate_candidates does 4 and 5 for many kernels at once.

Rules: never call a kernel correct or faster unless these tools said so. Numbers of origin `modelled` come from a \
performance model, not from a device: say so. Every result has `summary` and `next_steps`; an error says what to do \
and ends with a code in brackets. Long tools take detach=true and are asked again with the same arguments.

Guides: anvil://guides/language, instructions, rules, hardware, optimization-menu, errors, metrics, migration.
anvil://index lists every resource.
"""
