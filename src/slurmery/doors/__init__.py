"""What both front doors share: gather, decide, apply, report."""
