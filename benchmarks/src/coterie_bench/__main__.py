"""``python -m coterie_bench``."""

from coterie_bench.cli import main

if __name__ == "__main__":  # processes of a suite import this file, too
    main()
