"""GPU health: read with NVML, tried with a short computation, judged by thresholds, told as JSON."""
