# Forwards to ./dev, which needs no make: "make X" is "./dev X".  Settings pass through: make demo PORT=9500.
export PORT DEMO_SECONDS FUZZ_SECONDS KILLS KILL_SEED PREFIX DESTDIR JOBS

COMMANDS := build demo demo-check demo-cluster demo-cluster-check test run bench format install package cross-arm64 clean asan tsan tidy fuzz fuzz-long kill-long help

.PHONY: $(COMMANDS)
$(COMMANDS):
	@./dev $@
