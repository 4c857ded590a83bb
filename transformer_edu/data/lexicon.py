"""The words of the book's English-French grammar, in every form that the grammar needs.

Three choices keep French spelling free of exceptions that would distract from attention:

- every determiner, noun and verb form here that can follow *le, la, ce, ne, beau* begins with a consonant
  that is pronounced, so there is no elision (*l'*, *n'*) and no *cet* or *bel*;
- every English word that can follow *a* begins with a consonant sound, so there is no *an*;
- nouns name animals and things, so that every adjective can go with every noun.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Determiner:
    """A determiner; `plural` and `les` are None for *a*, which has no plural here."""

    singular: str
    plural: str | None
    le: str
    la: str
    les: str | None


@dataclass(frozen=True)
class Noun:
    """A noun in both languages; `feminine` is the gender of the French word."""

    singular: str
    plural: str
    french_singular: str
    french_plural: str
    feminine: bool
    animal: bool = True


@dataclass(frozen=True)
class Adjective:
    """An adjective: one English word, four French forms, and its side of the French noun."""

    english: str
    masculine: str
    feminine: str
    masculine_plural: str
    feminine_plural: str
    before_noun: bool


@dataclass(frozen=True)
class Verb:
    """A verb in the present tense: third person singular and plural; `base` is the English plural and infinitive."""

    base: str
    third: str
    french_singular: str
    french_plural: str
    transitive: bool


DETERMINERS = (
    Determiner("the", "the", "le", "la", "les"),
    Determiner("a", None, "un", "une", None),
    Determiner("this", "these", "ce", "cette", "ces"),
    Determiner("my", "my", "mon", "ma", "mes"),
)

NOUNS = (
    Noun("cat", "cats", "chat", "chats", feminine=False),
    Noun("dog", "dogs", "chien", "chiens", feminine=False),
    Noun("rabbit", "rabbits", "lapin", "lapins", feminine=False),
    Noun("wolf", "wolves", "loup", "loups", feminine=False),
    Noun("horse", "horses", "cheval", "chevaux", feminine=False),
    Noun("fox", "foxes", "renard", "renards", feminine=False),
    Noun("duck", "ducks", "canard", "canards", feminine=False),
    Noun("cow", "cows", "vache", "vaches", feminine=True),
    Noun("mouse", "mice", "souris", "souris", feminine=True),
    Noun("turtle", "turtles", "tortue", "tortues", feminine=True),
    Noun("frog", "frogs", "grenouille", "grenouilles", feminine=True),
    Noun("goat", "goats", "chèvre", "chèvres", feminine=True),
    Noun("hen", "hens", "poule", "poules", feminine=True),
    Noun("cake", "cakes", "gâteau", "gâteaux", feminine=False, animal=False),
    Noun("hat", "hats", "chapeau", "chapeaux", feminine=False, animal=False),
    Noun("boat", "boats", "bateau", "bateaux", feminine=False, animal=False),
    Noun("flower", "flowers", "fleur", "fleurs", feminine=True, animal=False),
    Noun("house", "houses", "maison", "maisons", feminine=True, animal=False),
    Noun("chair", "chairs", "chaise", "chaises", feminine=True, animal=False),
)

ADJECTIVES = (
    Adjective("small", "petit", "petite", "petits", "petites", before_noun=True),
    Adjective("big", "grand", "grande", "grands", "grandes", before_noun=True),
    Adjective("pretty", "joli", "jolie", "jolis", "jolies", before_noun=True),
    Adjective("beautiful", "beau", "belle", "beaux", "belles", before_noun=True),
    Adjective("good", "bon", "bonne", "bons", "bonnes", before_noun=True),
    Adjective("black", "noir", "noire", "noirs", "noires", before_noun=False),
    Adjective("white", "blanc", "blanche", "blancs", "blanches", before_noun=False),
    Adjective("red", "rouge", "rouge", "rouges", "rouges", before_noun=False),
    Adjective("green", "vert", "verte", "verts", "vertes", before_noun=False),
    Adjective("grey", "gris", "grise", "gris", "grises", before_noun=False),
    Adjective("brown", "brun", "brune", "bruns", "brunes", before_noun=False),
    Adjective("yellow", "jaune", "jaune", "jaunes", "jaunes", before_noun=False),
)

VERBS = (
    Verb("sleep", "sleeps", "dort", "dorment", transitive=False),
    Verb("run", "runs", "court", "courent", transitive=False),
    Verb("sing", "sings", "chante", "chantent", transitive=False),
    Verb("dance", "dances", "danse", "dansent", transitive=False),
    Verb("walk", "walks", "marche", "marchent", transitive=False),
    Verb("swim", "swims", "nage", "nagent", transitive=False),
    Verb("dream", "dreams", "rêve", "rêvent", transitive=False),
    Verb("fall", "falls", "tombe", "tombent", transitive=False),
    Verb("see", "sees", "voit", "voient", transitive=True),
    Verb("watch", "watches", "regarde", "regardent", transitive=True),
    Verb("follow", "follows", "suit", "suivent", transitive=True),
    Verb("find", "finds", "trouve", "trouvent", transitive=True),
    Verb("want", "wants", "veut", "veulent", transitive=True),
    Verb("lose", "loses", "perd", "perdent", transitive=True),
    Verb("push", "pushes", "pousse", "poussent", transitive=True),
)
