"""``python -m tailoredbayes`` is the command line."""

from tailoredbayes.cli import main

if __name__ == "__main__":
    main()
