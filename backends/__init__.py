"""Running a kernel somewhere: jobs in, evidence out. It judges nothing."""
