"""What every room needs: files, locks, progress, random streams, threads, HTTP, checks."""
