// What the words of a question are: English or not, and whether they name code.

const list = (text: string) => new Set(text.trim().split(/\s+/))

const english = list(
  'the a does did are what how why where which when who and with from that this there should would could of explain describe show list find',
)

/** Small words of other languages in Latin letters. Some are English too: they only count where no word is surely English. */
const others = list(`
der die das den dem des und ist wird werden wurde wie wo warum wann was nicht ein eine einen mit von
le la les une est sont dans pour quoi comment pourquoi quand avec qui que quel quelle
el los las una es son como por para del donde cuando se em os um uma onde quando quem
il lo che di dove come perche sono een het wat hoe waarom waar wordt och att hur var inte jest jak gdzie czy nie bir ve nerede`)

/**
 * Whether a question is said in the words that code is written in. One that is not says little to a search by words, so the model is asked for words
 * first. Names and English words in a row are taken for English, whether or not they are a sentence.
 */
export function isEnglish(text: string): boolean {
  const letters = text.match(/\p{L}/gu) ?? []
  const latin = text.match(/\p{Script=Latin}/gu) ?? []
  if (latin.length < letters.length * 0.6) return false
  const words = text.toLowerCase().match(/[\p{L}\p{M}]+/gu) ?? []
  if (words.some((word) => english.has(word))) return true
  return !words.some((word) => others.has(word) || /[^\0-\x7f]/.test(word))
}

/** `fooBar`, `foo_bar`, `foo.bar()`, `Foo::bar`, `--flag`, HTTPServer. */
const identifier =
  /[a-z\d][A-Z]|[A-Z][A-Z][a-z]|\w_\w|\w\(\)|\w::\w|\w\.[a-z]{1,5}\b(?!\.\s)|(?:^|\s)--[a-z]|\w\/[\w-]{1,80}\.\w/
const quotation = /`[^`\n]{2,200}`|"[^"\n]{8,200}"|“[^”\n]{8,200}”/

/** Whether a question names what it asks about as the code does: an identifier, a file, a message between quotes, a trace. */
export function namesCode(question: string): boolean {
  const text = question.slice(0, 8_000)
  return identifier.test(text) || quotation.test(text)
}
