// What documents are called: in lists, next to each other, in the names of files.
{
  const LONGEST = 60;  // letters of a name in a list
  const LETTERS = 14;  // below a thumbnail
  const IN_FILE = 90;  // bytes of a file's name: with two such parts it stays below 255

  const {list, partner} = headwise.documents;

  const differ = key => new Set(list.map(one => one[key])).size > 1;
  const last = ({model}) => (model || '').replace(/\/+$/, '').split('/').pop();
  const variant = one => one.variant || headwise.t('with all heads');

  // The last folder of its path, unless two models share that.
  function model(one) {
    const shared = list.some(other => other.model !== one.model && last(other) === last(one));
    return shared ? one.model : last(one);
  }

  // What sets a document apart from others of its text: ["MiniLM"], ["without 3.1"].
  const side = one => [differ('model') && model(one), differ('variant') && variant(one)]
      .filter(Boolean);

  // What sets it apart from all others: "MiniLM", "without 3.1", "the cat sat".
  function about(one) {
    const parts = [...side(one), differ('text') && one.text];
    return parts.filter(Boolean).join(' \u00b7 ') || one.title;
  }

  // The number of its text.
  const numberOf = number => partner(number) === null ? number : number >> 1;
  const name = number => headwise.t('text {0}', numberOf(number));

  // "3: " in front of what sets it apart; nothing on a page of one text.
  const numbering = number =>
      partner(number) !== null && list.length === 2 ? '' : numberOf(number) + ': ';

  // Below its thumbnail: "text 3", "3: without 3.1".
  function label(number) {
    const words = side(list[number]).join(' \u00b7 ');
    return words === '' ? name(number) :
        numbering(number) + headwise.tokens.short(words, LETTERS);
  }

  // What differs between two documents: model, text (as nameOfText calls it), variant.
  function apart(number, other, nameOfText) {
    const [a, b] = [list[number], list[other]];
    return [a.model !== b.model && model(a), a.text !== b.text && nameOfText(number),
      a.variant !== b.variant && variant(a)].filter(Boolean);
  }

  // The same next to it: "M", "text 1", "without 3.1".
  function beside(number, other) {
    const parts = apart(number, other, name);
    return number === other ? '' :
        parts.map(part => headwise.tokens.short(part, LONGEST)).join(', ') || name(number);
  }

  // What one chooses a document by: 'text', 'model' or 'variant'.
  const kind = () => differ('text') ? 'text' : differ('model') ? 'model' :
      differ('variant') ? 'variant' : 'text';

  // Of all documents, for a list to choose from.
  const choices = () => list.map((one, number) =>
      [number, numbering(number) + headwise.tokens.short(about(one), LONGEST)]);

  // ---- Names of files. ----

  // Letters with their marks, and numbers.
  function inFile(parts) {
    const name = parts.filter(Boolean).map(text => text.replace(/[^\p{L}\p{M}\p{N}._]+/gu, '-')
        .replace(/^-+|-+$/g, '')).filter(Boolean).join('-');
    // A letter that is cut in its middle is left out.
    return new TextDecoder().decode(new TextEncoder().encode(name).slice(0, IN_FILE),
        {stream: true});
  }

  const numberInFile = number => 'text-' + numberOf(number);

  // "text-3-without-3.1"
  const fileName = number =>
      inFile([differ('text') && numberInFile(number), ...side(list[number])]) ||
      numberInFile(number);

  // "without-3.1", next to another document.
  const fileNameBeside = (number, other) =>
      inFile(apart(number, other, numberInFile)) || numberInFile(number);

  Object.assign(headwise.documents,
      {about, numberOf, name, numbering, label, beside, kind, choices, fileName, fileNameBeside});
}
