"""Real servers for the tests, on loopback: SeaweedFS, moto, rclone; and a proxy that makes them misbehave."""
