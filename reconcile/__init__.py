"""The decision: `decide.reconcile(snapshots, history, settings, now)`, a pure function of values."""
