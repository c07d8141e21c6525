from hypothesis import HealthCheck, settings

settings.register_profile("busy machine", suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy machine")
