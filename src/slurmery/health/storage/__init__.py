"""Workers that fill the ephemeral storage of their pod are drained before the kubelet evicts them."""
