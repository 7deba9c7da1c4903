"""Words that tell nothing about a theme, by language.

English is longer, as it also leaves out what people write around a question. The others hold the
most frequent function words; verbs only where they serve as auxiliaries.
"""

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

_OTHERS = {
    "ar": """
    ألا أما أن أنا أنت أنه أو أي أين إذا إلا إلى إن إنه الآن الا الان التي الذي الذين الى او اي
    اين بعد بعض به بها بين تم ثم جدا حتى حيث خلال ذلك شكرا على علي عليه عن عند عندما غير في فيه
    فيها قبل قد كان كانت كل كم كما كيف لأن لا لدي لقد لك لكن لم لماذا لن لنا له لها لي ليس ما ماذا
    متى مثل مرحبا مع من منذ منه منها مني نحن نعم هذا هذه هل هم هنا هناك هو هي و وان وفي وقد وكان
    ولا ولكن ولم وما ومن وهو وهي يا
    """,
    "bg": """
    а аз ако ала без беше би бил била били било благодаря бъде бяха в вас ваш вече ви вие все
    всеки всички всичко във ги го да дали до докато дори е едва един една едно ето за защо защото
    здравейте и из или им има как каква какво какъв като кога когато което които който която къде
    към ли ме между мен ми много мога може моля моя му на над нали нас наш не него нея ни ние нищо
    но някой няма обаче около освен от още по повече под поне после почти преди през при пък с са
    сам само се сега си след сме съм със така такъв там те тези ти то това тогава този той тук тя
    тях че често ще щом я ѝ
    """,
    "cs": """
    a aby aj ale ani ano asi až bez bude budu by byl byla byli bylo být co což další den do dobrý
    děkuji ho i jak jako jaké je jeho jej jejich její jen ještě ji jiné již jsem jsi jsme jsou
    jste já k kam kde kdo když ke která které který kteří kvůli ma mají mezi mi mnou mně moc mohu
    moje my má mám máte mít mě můj může na nad ne nebo nebyl není než nic nich no nám nás náš ním
    něco od on ona oni ono po pod podle pokud pouze prosím proto protože proč před přes při s se
    si sice své svůj ta tady tak také takže tam tato tedy ten tento to tohle toho tom tomu tu tuto
    ty tyto této u už v ve vám vás váš více však všechno z za zda ze či že
    """,
    "da": """
    af al alle alt anden andet andre at bare begge blev blive bliver da de dem den denne der deres
    det dette dig din dine disse dit dog du efter eller en end er et for fra få får før gør ham
    han hans har havde have hej hende hendes her hos hun hvad hvem hver hvilken hvis hvor hvordan
    hvorfor hvornår i igen ikke ind ingen jeg jer jeres jo kan kom kunne man mange med meget men
    mere mig min mine mit mod må ned nogen noget nogle nu når og også om op os over på se selv sig
    sin sine sit skal skulle som sådan tak til ud under var ved vi vil ville vor være været
    """,
    "de": """
    aber alle allem allen aller alles als also am an ander andere anderen auch auf aus bei beim
    bereits bin bis bist bitte da dadurch dafür damit danke dann daran darauf das dass davon dazu
    daß dein deine dem den denn der des deshalb dich die dies diese diesem diesen dieser dieses
    dir doch dort du durch ein eine einem einen einer eines einfach einige er es etwas euch euer
    eure für gegen gibt habe haben hallo hast hat hatte hatten hier hin hinter ich ihm ihn ihnen
    ihr ihre ihrem ihren ihrer im immer in ins ist ja jede jeden jeder jedes jetzt kann kannst
    kein keine keinen können könnte machen man mehr mein meine meinem meinen meiner mich mir mit
    muss müssen nach nicht nichts noch nun nur ob oder ohne schon sehr sein seine seit sich sie
    sind so soll sollte sondern trotz um und uns unser unsere unter viel vom von vor war waren
    warum was weil welche wenn wer werde werden wie wieder will wir wird wo wollen wollte worden
    wurde wurden würde zu zum zur zwischen über
    """,
    "el": """
    ένα έναν ένας έτσι έχει έχετε έχω ή ήταν αλλά αν ανά απο από αυτά αυτή αυτό αυτός για δε δεν
    είμαι είναι είχα είχε εγώ εκεί εμένα εσείς εσύ η θα κάθε κάποιος και κατά κι λοιπόν μία μα μας
    με μετά μη μην μια μου μπορώ μόνο να ναι ο οι ούτε πιο ποια ποιος πολύ που πού πρέπει πριν
    προς πώς σας σε στα στη στην στις στο στον στους συν τα τη την της τι τις το τον του τους των
    ως όλα όμως όπως όταν ότι
    """,
    "es": """
    a ahora al algo alguna alguno algunos algún ante antes aquí así aun aunque bien cada como con
    contra cual cuando cuanto cuál cuándo cómo de del desde donde dos dónde el ella ellas ello
    ellos en entonces entre era eran eres es esa ese eso esos esta estaba estado estar estas este
    esto estos estoy está están fue fueron gracias ha haber había hace hacer han has hasta hay he
    hemos hola la las le les lo los luego me mi mis mucho muy más mí nada ni no nos nosotros
    nuestra nuestro o os otra otro otros para pero poco por porque puede pueden puedo pues que
    quien quién qué se sea ser si sido siempre sin sobre solo son soy su sus sí sólo también tan
    tanto te tengo ti tiene tienen toda todas todo todos tu tus tú un una uno unos usted ustedes
    va y ya yo él
    """,
    "fa": """
    آن آنها آیا از است اما او اگر ای این اینکه با باید بر برای بسیار بعد به بود بین تا تو خود خیلی
    دارد دارم در دیگر را روی سلام سپس شد شده شما شود ما مرا ممنون من می نه نیز نیست هر هست هستم هم
    همه همین هیچ و وقتی ولی پس چرا چه چون چیست کجا کرد کردن کرده کند کنم کنید که یا یک
    """,
    "fi": """
    ei eikä ellei emme en entä et että he hei heidän heille hyvin hän häneen häneltä hänen hänet
    ihan itse ja jo joka jonka jos joskus jossa josta jotka jotta juuri kaikki kanssa kautta
    kiitos koko koska koskaan kuin kuinka kuitenkin kun kuten kyllä me meidän meille mihin miksi
    mikä mikään milloin millä minua minulla minulle minun minut minä missä mistä miten mitä mitään
    monta mukaan mutta muu muut myös ne niiden niin niitä noin nuo nyt näin näitä nämä ole olen
    olet oli olin olisi olivat olla olleet ollut on ovat pitää saa se sekä sen siellä siihen siinä
    siis siitä sillä silti sinulla sinun sinut sinä sitten sitä tai te teidän tosi tuo tämä tämän
    tässä tästä tätä vaan vai vaikka vain van vielä voi voiko voin voisi voitte
    """,
    "fr": """
    a afin ai ainsi alors après as assez au aucun aucune aujourd'hui aussi autre autres aux avait
    avant avec avez avoir avons bien bonjour c car ce ceci cela celle celui ces cet cette ceux
    chaque chez comme comment d dans de depuis des deux dois doit donc dont du déjà elle elles en
    encore entre es est et eu eux faire fait faut font ici il ils j je jusque l la le les leur
    leurs lors lorsque lui là m ma mais me merci mes mieux moi moins mon même mêmes n ne ni non
    nos notre nous on ont ou où par parce pas pendant peu peut peux plus plusieurs pour pourquoi
    pouvez puis puisque qu quand que quel quelle quelles quels qui quoi rien s sa sans se sera ses
    seulement si sien son sont sous suis sur t ta te tes toi ton toujours tous tout toute toutes
    trop très tu un une va vais vers veux voici voilà vos votre vous y ça étaient était étant été
    être
    à
    """,
    "he": """
    אבל או אותה אותו אותי אז איך אין איפה אל אם אנחנו אני את אתה אתם בבקשה גם הוא היא היה היו היתה
    הם הן הנה הרבה זאת זה זו יותר יש כאן כבר כדי כי כך כל כמה כמו כן לא לה להם לו לי לך לכם למה
    לנו לפי לפני מאוד מאז מדי מה מי מתי נא עד עוד עכשיו על עם פה רק של שלי שלך שלנו שם תודה
    """,
    "hi": """
    अगर अपना अपनी अपने अब अभी आप आपका आपके इन इन्हें इस इसका इसके इससे इसे उन उनका उनके उन्हें उस
    उसका उसके उसे एक एवं ऐसे और क कब कर करना करने करें कहाँ कहां का कि किया किये किस किसी की कुछ
    के कैसे को कोई कौन क्या क्यों गई गए गया जब जहाँ जा जाता जाती जैसे जो तक तब तो था थी थे दिया
    द्वारा न नहीं ने पर फिर बहुत भी मुझे में मेरा मेरी मेरे मैं मैंने यदि यह यहाँ या ये रहा रही
    रहे लिए लिये वह वाला वाली वाले वे सकता सकते सब सभी साथ से हम हमारे हाँ ही हुआ हुई हुए हूँ हूं
    है हैं हो होता होती होने
    """,
    "hu": """
    a abban ahol aki akkor alatt amely ami amíg az azonban azt azért be ben csak de e egy egyik
    együtt el ennek ez ezek ezt ezért fel ha hanem hogy hol igen illetve is itt jó kell ki kérem
    köszönöm köz le legyen lehet lenne lesz ma meg mely mert mi mikor minden mindig mint mit miért
    most már még na nagyon ne nekem nem nincs olyan ott pedig rá s saját sem semmi sok szerint
    számára szép te tehát ti tud után vagy vagyok van vannak vele vissza volna volt voltak által
    át én és így össze úgy új ő ők
    """,
    "id": """
    ada adalah agar akan aku anda apa apakah atau bagaimana bagi bahwa banyak belum bisa bukan
    dalam dan dapat dari dengan di dia hanya harus ini itu jadi jika juga kalau kami kamu kapan
    karena ke kenapa kepada kita lagi lalu lebih maka masih mereka mohon namun oleh pada para saat
    saja sama sampai sangat saya sebagai sebuah sedang sekarang selamat semua seperti sudah supaya
    tapi telah tentang terima tetapi tidak tolong untuk yang
    """,
    "it": """
    a abbiamo ad adesso ai al alcuni alla alle allo allora altra altri altro anche ancora avere
    avete aveva c che chi ci ciao ciò coi col come con contro cosa così cui d da dagli dai dal
    dalla dalle degli dei del della delle dello deve devo di dopo dove due dunque e ed era erano
    esse essere fa fare fatto fra già gli grazie ha hai hanno ho i il in invece io l la le lei li
    lo loro lui ma mai me meno mentre mi mia mie miei mio molto ne negli nei nel nella nelle
    nessuno niente noi non nostra nostro o ogni oppure per perché però più poco poi posso può
    qualche quale quali quando quanto quasi quella quelle quelli quello questa queste questi
    questo qui se sei sempre senza si sia siamo sono sta stata stati stato su sua sue sui sul
    sulla sulle suo suoi tra troppo tu tua tuo tutta tutte tutti tutto un una uno va vi voi vostro
    è
    """,
    "nl": """
    aan af al alle alleen alles als altijd andere ben beter bij bijna daar daarna dan dank dat de
    deze die dit doe doen door dus een eens en er erg even ga gaan gaat geen geweest goed graag
    had hadden hallo heb hebben hebt heeft heel hem hen het hier hij hoe hun iemand iets ik in is
    ja je jij jouw jullie kan kon kunnen kunt maar maken me meer men met mij mijn moet moeten na
    naar niet niets nog nooit nu of om omdat ons onze ook op over sinds te tegen terug toch toen
    tot u uit uw van vanaf veel voor waar waarom waren was wat we weer wel werd wie wij wil wilt
    word worden wordt zal ze zeer zelf zich zij zijn zo zonder zou zouden zullen
    """,
    "no": """
    alle alt andre at av bare ble bli blir både da de deg dem den denne der deres det dette din
    dine disse ditt du eller en enn er et etter fikk for fordi fra få får før gjør gjøre ha hadde
    han hans har hei hele henne hennes her hun hva hvem hver hvilken hvis hvor hvordan hvorfor i
    igjen ikke ikkje ingen inn ja jeg kan kom kunne litt man mange med meg meget mellom men mer
    min mine mitt mot mye må nei noe noen nå når og også om opp oss over på samme seg selv siden
    sin sine sitt skal skulle slik som så takk til um under ut uten var ved vi vil ville vår være
    vært
    """,
    "pl": """
    a aby albo ale ani aż bardzo bez bo by być był była było były będzie chcę ci cię co coś czy
    czym dla dlaczego do dobry dzień dziękuję gdy gdyż gdzie go i ich ile im inny innych iż ja jak
    jaka jaki jakie jako je jednak jego jej jest jestem jeszcze jeśli jeżeli już każdy kiedy kto
    która które którego której który których którzy ku lub ma mają mam mi mimo mnie mogę moja moje
    może można mu my mój na nad nam nas nasz nawet nic nich nie nim niż no o od ona oni ono oraz
    pan pani po pod podczas ponieważ poza proszę przed przez przy również się skąd swoje są ta tak
    także tam te tego tej ten teraz też to tu tutaj tych tylko tym u w was we wiele witam więc
    wszystko właśnie z za zawsze ze że żeby
    """,
    "pt": """
    a agora ainda algum alguma alguns além ao aos apenas aquela aquele aqui as até bem bom cada
    com como da das de dela dele deles depois desde dessa desse desta deste do dois dos e ela elas
    ele eles em enquanto entre então era eram essa essas esse esses esta estar estava este estes
    estou está estão eu fazer foi foram há isso isto já la lhe lhes lo mais mas me mesmo meu meus
    minha minhas muito muitos na nas nem nenhum no nos nossa nosso num numa não nós o obrigada
    obrigado olá onde os ou outra outras outro outros para pela pelas pelo pelos pode pois por
    porque posso pra quais qual quando quanto que quem quer se sem sempre ser será seu seus sobre
    sua suas são só também tanto te tem tenho ter teve tinha toda todas todo todos tu tua tudo têm
    um uma uns vai você vocês vos às é
    """,
    "ro": """
    a acea această acest acestea acum ai aici al ale am ar are asta au avea avem așa bună care ce
    cea cei cel cele cine cu cum când cât că căci da dacă dar de deci deja din doar după ea ei el
    ele era erau este eu fi fie foarte fost fără iar la le li lor lui mai mea mele meu mi mult
    mulțumesc mă ne nici nimic noi nostru nu o ori pe pentru poate pot prin sa sale sau se spre
    sub sunt să te toate tot toți tu un una unde unei unor unui va voi vom vreau vă îi îl îmi în
    între își îți și
    """,
    "ru": """
    а без более больше будет будто бы был была были было быть в вам вас ваш вдруг ведь во вот все
    всегда всего всех всё вы где да даже для до добрый его ее если есть еще ещё её ж же за здесь
    здравствуйте и из или им их к как какая какой когда которая которого которое которой котором
    которому которую которые который которым которых кто ли либо меня мне много могу может можно
    мой моя моё мы на над надо нам нас наш не него нее нет неё ни нибудь них ничего но ну о об он
    она они оно от очень по под пожалуйста после потом потому почему почти при про раз с сам себе
    себя сейчас со спасибо стал стала стали так также такой там тебя тем теперь то тогда того тоже
    только том тот ты у уже хотя хочу чего чем через что чтоб чтобы эта эти этих это этого этой
    этом этот я
    """,
    "sv": """
    alla allt andra att av bara behöver blev bli blir de dem den denna deras dess dessa det detta
    dig din dina dit ditt du där då efter ej eller en er era ert ett fick finns från får för före
    genom gör göra ha hade han hans har hej helt henne hennes hon honom hos hur här i igen in
    ingen inget inte ja jag kan kom kunde kunna man med mellan men mer mig min mina mitt mot
    mycket måste ni nu när någon något några och också om oss på redan samma sedan ser sig sin
    sina sitt själv ska skall skulle som så sådan tack till under upp ur ut utan vad var vara
    varför varit varje vars vem vi vid vilka vilken vill väl vår våra vårt än är åt över
    """,
    "tr": """
    acaba ama ancak artık aslında ayrıca az bana bazı belki ben benden beni benim beri bile bir
    biraz biri birkaç birçok biz bize bizi bizim bu buna bunda bundan bunu bunun burada böyle
    bütün da daha de defa değil diye diğer dolayı en eğer fakat gibi göre hala halen hangi hatta
    hem henüz hep hepsi her herkes hiç hiçbir iki ile ise için işte kadar kendi ki kim kimse
    lütfen merhaba mi mu mü mı nasıl ne neden nerede niye niçin o olan olarak oldu olduğu olmadı
    olmak olması olsa olur ona ondan onlar onlara onların onu onun orada oysa sadece sana sen seni
    senin siz sizi sizin son sonra tabii tam tüm ve veya ya yani yapmak yine yok zaten çok çünkü
    önce şey şimdi şu
    """,
    "uk": """
    а або але без би був була були було бути в вам вас ваш вже ви вона вони воно все всі від він
    де для до добрий ж з за зі й його кого коли кому мене мені ми може можна моя мій на над нам
    нас наш не немає ну ні о об один при про під після та так такий там те ти то тому тільки у усе
    хто це цей ця ці через чи чому ще що щоб я як яка який якщо які є і із їх її
    """,
    "vi": """
    ai anh bà bạn bằng bị bởi cho chào chúng chưa chỉ chị càng các cái còn có cùng cũng
    cả cảm của do dù dưới em giữa gì hay hoặc hãy hơn họ khi không là lên lòng lúc lại
    mà mình mọi mỗi một ngay ngoài nhau nhiều như nhưng nhất những nào này nên nó nếu
    nữa phải qua ra rất rồi sao sau sẽ ta theo thì thế trong trên trước tôi tại từ vui
    và vào vì vẫn vậy về với xin xuống ông đang đi đâu đây đã đó được đến ơn ở
    """,
}
STOP_WORDS: dict[str, frozenset[str]] = {
    "en": ENGLISH,
    **{code: frozenset(words.split()) for code, words in _OTHERS.items()},
}
LANGUAGES = dict(
    pair.split(":")
    for pair in """
    arabic:ar bulgarian:bg czech:cs danish:da dutch:nl english:en finnish:fi french:fr german:de
    greek:el
    hebrew:he hindi:hi hungarian:hu indonesian:id italian:it norwegian:no persian:fa polish:pl
    portuguese:pt romanian:ro russian:ru spanish:es swedish:sv turkish:tr ukrainian:uk
    vietnamese:vi
    """.split()
)
