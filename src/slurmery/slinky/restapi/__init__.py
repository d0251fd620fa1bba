"""RestApi: slurmrestd behind a Service."""
