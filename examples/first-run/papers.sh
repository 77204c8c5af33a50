# Prints {"there": [...], "missing": [...]}: what a visitor of a project looks for first.
there= missing=
look() {
  name=$1
  shift
  for path in "$@"; do
    if [ -e "$path" ]; then
      there="$there, \"$name\""
      return
    fi
  done
  missing="$missing, \"$name\""
}
look README README* readme* Readme*
look licence LICEN[CS]E* COPYING*
look changelog CHANGELOG* CHANGES* NEWS*
look "contributing guide" CONTRIBUTING*
look tests test tests spec crates/*/tests src/test test_*.py
look CI .github/workflows .gitlab-ci.yml .circleci .ci Jenkinsfile
printf '{"there": [%s], "missing": [%s]}\n' "$(printf %s "$there" | cut -c3-)" "$(printf %s "$missing" | cut -c3-)"
