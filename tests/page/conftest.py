"""The browser that pages are looked at with."""

from browser import browser as browser
from browser import contexts as contexts
from browser import visit as visit
