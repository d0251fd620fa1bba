"""The worker lifecycle that both front doors share: who comes, who drains, who may go, and why not. Pure."""
