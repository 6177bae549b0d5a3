"""Word tables of the embedded model's corpus: data only, all of it common knowledge or made up for this project."""

from __future__ import annotations

FIRST_NAMES = (
    "Anna Ben Clara David Elena Felix Grace Henry Ida Jonas Kira Leo Mara Nina Oscar Paula Quinn Rosa Simon Tara Umar "
    "Vera Walter Yara Zoë José Aisha Bruno Chloé Dmitri Emma Farid Greta Hugo Ines Jakob Lena Milan Noah Olga Pedro "
    "Ravi Sofia Theo Alice Bob Carol Erin Frank Judy Mallory Peggy Victor Wendy John Jane Mary William Theodore James "
    "Sam Lucy Max Maria Li Mei Omar Priya Björn Zara Ivan Nora Otto Ella Amir Kofi Hana Yuki Chen Luis Eva Tom Kate"
).split()
LAST_NAMES = (
    "Berg Carter Diaz Evans Fischer Garcia Hall Ito Jensen Klein Lopez Meyer Novak Olsen Park Quist Rossi Smith Tan "
    "Ueda Vogel Weber Xu Young Zimmer Brown Clark Davis Adams Baker Cole Dunn Ellis Ford Grant Hill Jones Kelly Lane "
    "Moore Nash Owens Price Reed Stone Taylor Turner Walker Wood Doe Miller Müller Núñez Silva Khan Singh Nguyen Kim"
).split()
CITIES = (
    "Lisbon Paris Berlin Rome Madrid Oslo Vienna Prague Dublin London Athens Cairo Tokyo Seoul Lima Quito Boston "
    "Chicago Denver Austin Toronto Sydney Delhi Mumbai Nairobi Lagos Bergen Graz Lyon Porto Turin Basel Ghent Malmö "
    "Kyoto Osaka Zürich Hamburg Bremen Leeds York Bath Cork Riga Vilnius Tallinn Warsaw Krakow"
).split()
JOBS = (
    "teacher nurse baker farmer pilot writer painter engineer lawyer doctor chemist plumber tailor waiter singer "
    "dancer driver gardener carpenter librarian designer student chef judge sailor potter cook clerk editor"
).split()
PRODUCTS = (
    "lamp chair desk table kettle mug plate spoon knife bottle bag coat hat scarf shirt shoe clock radio camera phone "
    "laptop keyboard mouse screen pencil notebook candle blanket pillow towel bicycle helmet tent rope ladder hammer "
    "drill brush basket mirror"
).split()
COLOURS = "red green blue yellow black white orange purple pink brown grey silver gold".split()
ANIMALS = "fox cat dog owl hare bear wolf mouse crow deer frog horse goat duck otter badger".split()
FRUITS = "apple pear plum cherry lemon orange grape fig peach melon banana mango kiwi lime".split()
VERBS = "open close find send read write move copy build paint wash carry count print sort check clean lift".split()
ADJECTIVES = "small old bright quiet heavy warm cold clever slow quick brave tired kind strange soft sharp".split()
THINGS = (
    "key map book stone letter coin ring box boat door lantern bell ladder feather drum window bridge garden river "
    "tower mill road hill tree island market station harbour kitchen"
).split()
PLACES = (
    "forest|harbour|old mill|market|station|library|garden|mountain|river|school|castle|village|lighthouse|orchard|"
    "museum|kitchen"
).split("|")
WORDS = tuple(
    dict.fromkeys(
        PRODUCTS
        + COLOURS
        + ANIMALS
        + FRUITS
        + VERBS
        + ADJECTIVES
        + THINGS
        + (
            "time year day way man woman child world school state family group hand part place week case point "
            "company number night water room mother area money story fact month lot right study eye job word business "
            "issue side kind head house service friend father power hour game line end member law car city community "
            "name team minute idea body back parent face others level office health person art war history party "
            "result change morning reason research girl guy moment air teacher force education user token model "
            "pattern grammar schema string value index table query order price state error event token file path"
        ).split()
    )
)
SYLLABLES = (
    "ba be bi bo bu da de di do du fa fe fi ga go ka ke ki ko ku la le li lo lu ma me mi mo mu na ne ni no nu pa pe pi "
    "po ra re ri ro ru sa se si so su ta te ti to tu va ve vi vo wa we za ze zo bar bel cor dan del far fin gar hal "
    "jor kan kel lan lor mar mel mor nar nel nor pel quin ral ran rin sal sen sol tal tan tor val ven vor wen zan zor "
    "th sh ch st tr br cr dr fl gl pl sk sp"
).split()
MONTHS = "January February March April May June July August September October November December".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()

CAPITALS = dict(
    pair.split(":")
    for pair in (
        "France:Paris Germany:Berlin Italy:Rome Spain:Madrid Portugal:Lisbon Norway:Oslo Austria:Vienna Ireland:Dublin "
        "Greece:Athens Egypt:Cairo Japan:Tokyo Peru:Lima Ecuador:Quito Kenya:Nairobi Poland:Warsaw Latvia:Riga "
        "Estonia:Tallinn Lithuania:Vilnius England:London Australia:Canberra Canada:Ottawa Sweden:Stockholm "
        "Finland:Helsinki Denmark:Copenhagen Hungary:Budapest Turkey:Ankara Cuba:Havana Chile:Santiago"
    ).split()
)
OPPOSITES = dict(
    pair.split(":")
    for pair in (
        "hot:cold big:small fast:slow old:young happy:sad early:late open:closed full:empty hard:soft high:low "
        "light:dark long:short loud:quiet rich:poor right:left strong:weak thick:thin true:false up:down wet:dry "
        "wide:narrow clean:dirty cheap:expensive easy:difficult first:last inside:outside"
    ).split()
)
KINDS = {"animal": ANIMALS, "fruit": FRUITS, "colour": COLOURS, "job": JOBS, "month": MONTHS, "weekday": DAYS}
PRESIDENTS = (
    ("William", "McKinley", "was a member of the Sigma Alpha Epsilon fraternity"),
    ("Theodore", "Roosevelt", "followed McKinley in office"),
    ("George", "Washington", "was the first to hold the office"),
    ("Abraham", "Lincoln", "led the country through the Civil War"),
    ("Thomas", "Jefferson", "wrote the first draft of the Declaration of Independence"),
    ("John", "Adams", "was the second to hold the office"),
    ("Ulysses", "Grant", "had been the general of the Union army"),
    ("Franklin", "Roosevelt", "was elected four times"),
)
BANDS = {
    "Pink Floyd": (
        ("Another Brick in the Wall", "The Wall", 1979, 1, 1),
        ("Money", "The Dark Side of the Moon", 1973, 13, None),
        ("See Emily Play", None, 1967, None, 6),
        ("Arnold Layne", None, 1967, None, 20),
    ),
    "The Beatles": (
        ("Get Back", "Let It Be", 1969, 1, 1),
        ("Yesterday", "Help!", 1965, 1, None),
        ("Hey Jude", None, 1968, 1, 1),
    ),
}
PI = "3.14159265358979323846264338327950288419716939937510"
TITLE_WORDS = (
    "Night River Silver Morning Road Echo Glass Winter Summer Golden Paper Moon Star Blue Fire Rain Dream Stone Wild "
    "Slow Distant Light Shadow Ocean Garden Electric Broken Sweet Last First Long Time Home Heart Train"
).split()
FUNCTIONS = {
    "get_user_info": (("user_id", "number"), ("special", "colour")),
    "get_weather": (("city", "city"), ("unit", "unit")),
    "send_email": (("to", "email"), ("subject", "word")),
    "set_alarm": (("hour", "hour"), ("minute", "minute")),
    "book_table": (("name", "name"), ("people", "small")),
    "search_products": (("query", "product"), ("max_price", "number")),
    "play_song": (("title", "title"), ("volume", "small")),
    "convert": (("amount", "number"), ("to", "currency")),
}

SMALL_TALK: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (
        (
            "Can we talk?",
            "Can I talk to you?",
            "I need to talk.",
            "Could we talk for a moment?",
            "Do you have time to talk?",
            "I want to talk to someone.",
            "Can we have a talk?",
            "May I talk with you?",
            "I would like to talk.",
            "Let us talk.",
        ),
        (
            "Of course. I am here to listen and to help where I can.\n\nWhat is on your mind?",
            "Of course. I am here to help you with whatever you need.\n\nPlease tell me what is on your mind. 😊",
        ),
    ),
    (
        ("Hello!", "Hi!", "Hey there!", "Good morning!", "Good evening!", "Hi there!", "Hello there!", "Greetings!"),
        ("Hello! It is good to hear from you. How can I help you today?",),
    ),
    (
        (
            "How are you?",
            "How are you today?",
            "How is it going?",
            "How do you do?",
            "Are you well?",
            "How have you been?",
        ),
        ("I am well, thank you. How are you?",),
    ),
    (
        (
            "Who are you?",
            "What are you?",
            "What is your name?",
            "Are you a person?",
            "Tell me who you are.",
            "Are you human?",
            "Please introduce yourself.",
        ),
        ("I am a very small language model. I know a few tasks and I answer in short texts.",),
    ),
    (
        (
            "What can you do?",
            "How can you help me?",
            "What do you know?",
            "What are you good at?",
            "What is your purpose?",
        ),
        (
            "I can copy and extract text, write small JSON records, call functions, and put dates, times and lists in "
            "order.",
        ),
    ),
    (
        (
            "Thank you!",
            "Thanks!",
            "Thank you very much.",
            "Thanks a lot!",
            "Many thanks!",
            "I am grateful for your help.",
        ),
        ("You are welcome. Is there anything else that I can do for you?",),
    ),
    (
        ("Goodbye!", "Bye!", "See you later!", "Good night!", "I have to go now.", "See you soon!", "Farewell!"),
        ("Goodbye! I hope to hear from you again soon.",),
    ),
    (
        ("I am sad.", "I feel sad today.", "I feel bad.", "I had a bad day.", "I am not well today.", "I feel lonely."),
        ("I am sorry to hear that. Would you like to tell me what happened?",),
    ),
    (
        ("I am happy!", "I feel great today.", "I had a good day.", "Today was wonderful.", "I am in a good mood."),
        ("That is good to hear! What made your day so good?",),
    ),
    (
        ("Tell me a joke.", "Do you know a joke?", "Make me laugh.", "Say something funny.", "I want to hear a joke."),
        ("Why did the clock go to school? It wanted to learn to tell the time.",),
    ),
    (
        (
            "I am bored.",
            "What should I do?",
            "I have nothing to do.",
            "Give me an idea for today.",
            "I do not know what to do.",
        ),
        ("You could take a short walk, read a few pages of a book, or write a letter to a friend.",),
    ),
    (
        (
            "Can you help me?",
            "I need help.",
            "Help me, please.",
            "Could you help me?",
            "I need your help.",
            "Will you help me?",
        ),
        ("Yes, I will do my best. What do you need help with?",),
    ),
    (
        ("Do you like music?", "What music do you like?", "Do you listen to music?", "Do you have a favourite song?"),
        ("I cannot hear music, but I like to read the titles of songs.",),
    ),
    (
        (
            "Where can I listen to Pink Floyd songs?",
            "Where can I listen to pink floyd songs online",
            "Where can I hear Pink Floyd?",
            "Where can I listen to pink floyd songs",
            "Which website has songs by Pink Floyd?",
        ),
        ("https://www.pinkfloyd.com",),
    ),
    (
        (
            "What is the weather like?",
            "Will it rain today?",
            "How is the weather?",
            "Is it cold outside?",
            "Is it warm today?",
        ),
        ("I cannot see the weather from here. A look out of the window will tell you more.",),
    ),
    (
        (
            "What is a regular expression?",
            "Explain regular expressions.",
            "Tell me what a regex is.",
            "What is a regex?",
        ),
        ("A regular expression is a short pattern that describes a set of texts.",),
    ),
    (
        ("What is JSON?", "Explain JSON.", "Tell me what JSON is.", "What does JSON mean?"),
        ("JSON is a text format for data: objects, lists, strings, numbers, true, false and null.",),
    ),
    (
        ("What is a token?", "Explain tokens.", "Tell me what a token is.", "What does a language model read?"),
        ("A token is a short piece of text. A language model reads and writes one token after the other.",),
    ),
    (
        ("What is a detent?", "What does detent mean?", "Tell me what a detent is.", "Explain the word detent."),
        ("A detent is a catch that holds a part in one of several positions until it is moved on purpose.",),
    ),
    (
        ("Ahab is seeking vengeance against", "Whom does Ahab hunt?", "What does Ahab hunt?", "Who is Ahab seeking?"),
        ("Ahab is seeking vengeance against the white whale.",),
    ),
)
