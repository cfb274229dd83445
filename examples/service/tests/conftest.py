import njc.hook

njc.hook.install()  # `import triage.classify` finds triage/classify.njpy
