"""`python -m njc` is `njc`."""

from njc.cli import main

if __name__ == "__main__":
    main()
