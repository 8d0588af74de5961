# The house rules that a machine can check hold.
exec "$SOURCE/scripts/lint" "${LIBRARIES:-$SOURCE/build/lib}"
