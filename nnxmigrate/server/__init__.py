"""The language server: diagnostics, fixes and explanations in editors.

``workspace.py`` holds the files with the editor's unsaved texts over them and analyses one of them among the others;
``actions.py`` and ``hover.py`` say what can be done about a finding; ``protocol.py`` speaks with the editor. Only the
last two rooms know the protocol's types.
"""
