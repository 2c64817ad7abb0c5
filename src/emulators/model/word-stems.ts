// Words, as they are compared: identifiers fall into their parts, endings and the commonest words go.

const stopWords = new Set(
  (
    'a about after all also am an and any anything are as at be because been before being between both but by can could did do does ' +
    'doing done each every few for from had happen happens has have having he her here him his how i if in into is it its itself ' +
    'just like made make makes many me mean means more most much must my no nor not now of off on once one only or other our ' +
    'out over own please same see she should show so some such tell than that the their them then there these they this those through ' +
    'to too under up us use used uses using very want was way we were what when where which while who whom why will with work works ' +
    'would you your explain describe file files code function line lines exactly actually'
  ).split(' '),
)

/** Words that say nearly the same in code. A line that has the neighbour counts for less than one that has the word. */
const synonymGroups = [
  'delete remove kill destroy revoke drop clean',
  'create start open new build init begin boot launch',
  'error fail failure throw exception reject crash',
  'config setting option parameter environment',
  'retry attempt again repeat backoff',
  'auth authenticate credential token login permission secret key',
  'store save write persist keep put',
  'read load fetch get parse decode',
  'limit max maximum quota bound budget cap',
  'send post emit publish notify reply respond',
  'check verify validate assert ensure',
  'find search look match query grep',
  'deadline timeout expire lifetime',
  'concurrent parallel race lock lease claim conflict',
].map((line) => line.split(' '))

/** The words that nearly say what the word with this stem says. */
export function synonymsOf(stemmed: string): string[] {
  return synonymGroups
    .filter((group) => group.some((word) => stem(word) === stemmed))
    .flatMap((group) => group.filter((word) => stem(word) !== stemmed))
}

/** `readFileSync`, `read_file` and `read-file` are `read`, `file` and so on. */
export function splitWords(text: string): string[] {
  return (
    text
      .replace(/([\p{Ll}\d])(\p{Lu})/gu, '$1 $2')
      .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
      .toLowerCase()
      .match(/\p{L}[\p{L}\p{M}]*|\d+/gu) ?? []
  )
}

/** A crude stem: enough that `summarises` meets `summarise` and `summary`'s own line is not far. */
export function stem(word: string): string {
  if (word.length <= 3) return word
  const shorter = word
    .replace(/(ations?|ating|ated|ates|ators?)$/, 'at')
    .replace(/ies$/, 'y')
    .replace(/(ings?|edly|ed|ers?|ors?|ly|es|s)$/, '')
    .replace(/([^aeiou])\1$/, '$1')
    .replace(/e$/, '')
  return shorter.length >= 3 ? shorter : word
}

/** The stems of what carries meaning. */
export function stemsOf(text: string): string[] {
  return splitWords(text)
    .filter((word) => !stopWords.has(word) && (word.length > 1 || /\d/.test(word)))
    .map(stem)
}

/** What in a question is surely a name in code: in backticks, or written like an identifier or a path. */
export function findIdentifiers(question: string): string[] {
  const quoted = [...question.matchAll(/`([^`\n]{2,80})`/g)].map((found) => found[1]!)
  const written = question.match(/[\w$./-]*[\w$]/g) ?? []
  const names = written.filter((word) => /[a-z\d][A-Z]|\w_\w|\w\/\w|\w\.\w/.test(word))
  return [...new Set([...quoted, ...names])]
}
