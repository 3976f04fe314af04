"""pyarrow, standing in: it reads what the stand-in profiler writes under the name of Parquet, nothing else."""
