"""Words that say nothing about a topic, in several languages: articles, pronouns, prepositions, auxiliaries."""

from collections.abc import Iterable
from pathlib import Path

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from rectifact.core.errors import InputError
from rectifact.io.files import reading

LISTS = {
    "german": """
        aber als also am an andere anderen anderer anderes auch auf aus bei beim bin bis bist da damit dann
        das dass daß dein deine dem den denn der deren des deshalb dessen die dies diese diesem diesen dieser
        dieses dir doch dort du durch ein eine einem einen einer eines er es etwa etwas euch euer für gegen
        gewesen hab habe haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer
        ihres im immer in indem ins ist ja jede jedem jeden jeder jedes jene jenem jenen jener jenes jetzt
        kann kein keine keinem keinen keiner können könnte könnten machen man manche mein meine mich mir mit
        muss mußte müssen nach nicht nichts noch nun nur ob oder ohne schon sehr sei sein seine seinem seinen
        seiner seines seit sich sie sind so soll sollte sondern sonst um und uns unser unsere unter viel vom
        von vor wann war waren warum was weil weiter welche welchem welchen welcher welches wenn wer werde
        werden weshalb wie wieder will wir wird wirst wo wollen worden wurde wurden würde würden zu zum zur
        zwar zwischen über""",
    "french": """
        ai ainsi alors après as au aucun aucune aussi autre autres aux avaient avait avant avec avez avoir
        avons bien car ce ceci cela celle celles celui cependant ces cet cette ceux chaque chez comme comment
        dans de depuis des deux dit donc dont du elle elles en encore entre est et eu eux faire fait font
        furent fut hors ici il ils je la le les leur leurs lors lorsque lui là ma mais me mes moi moins mon
        même mêmes ne ni non nos notre nous on ont or ou où par parce pas pendant peu peut peuvent plus pour
        pourquoi pouvait puis qu quand que quel quelle quelles quelque quelques quels qui quoi sa sans se sera
        seront ses seulement si soit sommes son sont sous suis sur ta tandis te tel telle telles tels tes toi
        ton toujours tous tout toute toutes trop très tu un une vers voici voilà vos votre vous vu ça étaient
        était été êtes être""",
    "spanish": """
        al algo algunas algunos ante antes aquel aquella aquellas aquellos aquí así aun aunque bien cada casi
        como con contra cual cuales cuando cuanto de del desde donde dos durante el ella ellas ellos en entre
        era eran eres es esa esas ese eso esos esta estaba estaban estado estar estas este esto estos estoy
        está están fue fueron fui ha haber había habían hace hacer hacia han has hasta hay he hemos la las le
        les lo los me mi mientras mis mismo mucho muchos muy más mí nada ni no nos nosotros nuestra nuestras
        nuestro nuestros o os otra otras otro otros para pero poco por porque pudo puede pueden pues que quien
        quienes quién qué se sea según ser será si sido siempre siendo sin sobre solo somos son soy su sus
        suyo sí sólo también tampoco tan tanto te tener tenía tiene tienen toda todas todo todos tras tu tus
        tuvo un una unas uno unos usted ustedes va vez y ya yo él""",
    "italian": """
        abbiamo agli ai al alla alle allo allora altra altre altri altro anche ancora avere aveva avevano
        avuto bene che chi ci ciò come con contro cosa così cui da dagli dai dal dalla dalle dallo degli dei
        del dell della delle dello deve di dopo dove due durante e ed era erano essere fa fare fino fra fu
        furono già gli ha hai hanno ho i il in infatti io la le lei li lo loro lui ma me mentre mi mia mie
        miei mio molto ne negli nei nel nella nelle nello noi non nostra nostro o oggi ogni oppure per perché
        però più poco poi presso prima può qua quale quali quando quanto quasi quella quelle quelli quello
        questa queste questi questo qui quindi sarà se sei sempre senza si sia siamo solo sono sopra sotto sta
        stata state stati stato su sua sue sugli sui sul sulla sulle suo suoi tale tra tu tua tutta tutte
        tutti tutto un una uno verso vi voi è""",
    "portuguese": """
        a ao aos as até cada com como contra da das de dela delas dele deles depois desde do dos e ela elas
        ele eles em entre era eram essa essas esse esses esta estava estavam este estes está estão eu foi
        foram fosse há isso isto já lhe lhes mais mas me mesmo meu meus minha muito muitos na nas nem no nos
        nossa nosso num numa não nós o os ou outra outras outro outros para pela pelas pelo pelos pode podem
        por porque quais qual quando que quem se sem sendo ser será seu seus si sido sob sobre sua suas são só
        também tanto te tem tendo ter teve tinha tinham toda todas todo todos tu têm um uma umas uns você
        vocês à às é""",
    "dutch": """
        aan aangezien al alle alleen alles als altijd andere ben bij daar daarom dan dat de deze die dit doch
        doen door dus een eens elk elke en er ge geen had hadden heb hebben heeft hem hen het hier hij hoe hun
        iemand iets ik in is ja je jij jouw jullie kan kon kunnen maar me mee meer men met mij mijn moet
        moeten na naar niet niets nog nu of om omdat onder ons onze ook op over reeds sinds te tegen tegenover
        ten tijdens toch toen tot tussen u uit uw van veel voor waar waarom want waren was wat we wel welke
        werd werden wezen wie wij wil willen worden wordt zal ze zelf zich zij zijn zo zoals zonder zou zouden""",
    "swedish": """
        alla allt att av blev bli blir de dem den denna deras dess dessa det detta dig din dina ditt du där
        efter ej eller en ett från för ha hade han hans har henne hennes hon honom hur här i icke ingen inget
        inom inte jag ju kan kunde man med mellan men mig min mina mitt mot mycket må ni nu när någon något
        några och om oss på samma sedan sig sin sina sitt ska skall skulle som så sådan sådana till under upp
        ut utan vad var vara varit vars vem vi vid vilka vilken vilket vår våra än är över""",
}
"""Words of each language besides English, whose list is scikit-learn's."""

LANGUAGES = ("english", *LISTS)
CODES = dict(zip(("en", "de", "fr", "es", "it", "pt", "nl", "sv"), LANGUAGES, strict=True))
"""Languages by their ISO 639 codes."""


def stop_words_of(name: str | None) -> frozenset[str] | None:
    """The words of a language, those in a file, or None.

    Parameters
    ----------
    name : str or None
        A language by its English name or its code, such as ``"german"`` or ``"de"``, or the path of a text file with
        one word or several per line; or several of them, separated by commas, as in ``"german,english"``.

    Examples
    --------
    >>> "nicht" in stop_words_of("german"), stop_words_of("de") == stop_words_of("German"), stop_words_of(None)
    (True, True, None)
    """
    if name is None:
        return None
    if "," in name and not Path(name).is_file():
        named = [one.strip() for one in name.split(",") if one.strip()]
        return frozenset(word for one in named for word in stop_words_of(one) or ())
    name = CODES.get(name.lower(), name.lower()) if name.lower() in (*CODES, *LANGUAGES) else name
    if name == "english":
        return frozenset(ENGLISH_STOP_WORDS)
    if name in LISTS:
        return frozenset(LISTS[name].split())
    path = Path(name)
    if not path.suffix and not path.is_file():
        raise InputError(
            f"stop_words={name!r} is neither a language ({', '.join(LANGUAGES)}) nor a file.",
            "Name one of them, or None to keep all words.",
            option="stop_words",
            command="Name one of them, or none to keep all words.",
        )
    with reading(path, "words in UTF-8"):
        return frozenset(path.read_text(encoding="utf-8-sig").lower().split())


def languages_left_out(words: Iterable[str]) -> str | None:
    """The languages whose lists are among these words, separated by commas; None if there is none.

    Examples
    --------
    >>> languages_left_out(stop_words_of("german,english") | {"ticket"}), languages_left_out([])
    ('english,german', None)
    """
    given = frozenset(map(str, words))
    return ",".join(name for name in LANGUAGES if (stop_words_of(name) or given) <= given) or None
