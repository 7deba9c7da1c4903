"""English words that tell nothing about a theme."""

from __future__ import annotations

ENGLISH = frozenset(
    """
    a able about above actually after again against all almost already also although always am an
    and another any anybody anymore anyone anything anyway are aren't around as ask asked at away
    back be because been before being below best better between both but by came can can't cannot
    come could couldn't did didn't do does doesn't doing don't done down during each either else
    enough even ever every everyone everything few first for from further get gets getting give
    given go goes going gone good got had hadn't has hasn't have haven't having he he's hello help
    her here here's hers herself hey hi him himself his how how's however i i'd i'll i'm i've if in
    instead into is isn't it it'd it'll it's its itself just keep keeps kind know last least let
    let's like little look made make makes many may maybe me might mine more most much must my
    myself need needs never next no nobody none nor not nothing now of off often oh ok okay on once
    one only onto or other others our ours ourselves out over own per perhaps please pls put quite
    rather really right said same saw say says see seem seems seen several shall she she's should
    shouldn't since so some somebody someone something sometimes somewhere soon sorry still such
    sure take taken tell than thank thanks that that's the their theirs them themselves then there
    there's these they they'd they'll they're they've thing things think this those though through
    thx till to today together told too took toward tried try trying twice two u under until up
    upon ur us use used using usually very via want wanted wants was wasn't way we we'd we'll we're
    we've well went were weren't what what's whatever when where where's whether which while who
    who's whole whom whose why will with within without won't would wouldn't yes yet you you'd
    you'll you're you've your yours yourself yourselves arent cant couldnt didnt doesnt dont hadnt
    hasnt havent id im isnt ive shouldnt thats theres wasnt werent whats wheres wont wouldnt youre
    """.split()
)
