"""The tools: what people type. Each is a module with a function of its name."""
