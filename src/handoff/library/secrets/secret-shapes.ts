// What credentials of well-known services look like. These catch keys that nobody told us about; keys that we hold are found by their own
// characters (redact.ts), so a shape may be strict and leave ordinary code alone.

export interface SecretShape {
  rule: string
  pattern: RegExp
}

/** The signs a token is made of, and none that ends a word of a program. */
const mixed = '(?=[A-Za-z_-]{0,200}[0-9])(?=[a-z0-9_-]{0,200}[A-Z])(?=[A-Z0-9_-]{0,200}[a-z])'

const shape = (rule: string, source: string): SecretShape => ({
  rule,
  pattern: new RegExp(`(?<![A-Za-z0-9])${source}`, 'g'),
})

/** A key's text lies in lines, or in one line with the line ends written out; a program that only names the header has no such line. */
const keyText = String.raw`(?=[\s\S]{0,300}?[A-Za-z0-9+/]{40})(?:[A-Za-z0-9+/=\s]|\\[nr]|[A-Za-z-]{4,20}: [^\n]{0,80}\n|["'+, ]){40,30000}`

export const secretShapes: readonly SecretShape[] = [
  shape('github-token', 'gh[pousr]_[A-Za-z0-9](?:[A-Za-z0-9._-]{18,1000}[A-Za-z0-9_])'),
  shape('github-token', 'github_pat_[A-Za-z0-9_]{20,200}'),
  shape('gitlab-token', 'gl(?:pat|dt|rt|ptt|cbt|agent|soat|ft)-[A-Za-z0-9_-]{20,100}'),
  shape('model-key', `sk-${mixed}[A-Za-z0-9_-]{20,300}`),
  shape('sandbox-key', '(?:e2b|sk_e2b)_[A-Za-z0-9]{20,100}'),
  shape('drive-key', `(?:drive9|dat9)_${mixed}[A-Za-z0-9_=+/.-]{20,2000}`),
  shape('aws-key', '(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])'),
  shape('google-key', 'AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])'),
  shape('slack-token', 'xox[abeoprs]-[A-Za-z0-9-]{10,250}'),
  shape('slack-token', 'xapp-[0-9]-[A-Za-z0-9-]{10,250}'),
  shape('stripe-key', '[sr]k_(?:live|test)_[A-Za-z0-9]{16,200}'),
  shape('npm-token', 'npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])'),
  shape('pypi-token', 'pypi-[A-Za-z0-9_-]{50,300}'),
  shape('hugging-face-token', `hf_${mixed}[A-Za-z0-9]{30,60}`),
  shape('vercel-token', 'vercel_blob_rw_[A-Za-z0-9_]{20,200}'),
  shape('web-token', String.raw`eyJ[A-Za-z0-9_-]{8,3000}\.eyJ[A-Za-z0-9_-]{8,6000}\.[A-Za-z0-9_-]{8,3000}`),
  shape('clone-password', String.raw`x-access-token:[^\s@:/]{10,1000}(?=@)`),
  {
    rule: 'private-key',
    pattern: new RegExp(
      `-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----${keyText}(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?`,
      'g',
    ),
  },
]

/** How such credentials begin, and how long they may become. */
const starts: readonly { begins: RegExp; longest: number }[] = [
  {
    begins:
      /(?<![A-Za-z0-9])(?:gl(?:pat|dt|rt|ptt|cbt|agent|soat|ft)-|github_pat_|sk-|e2b_|sk_e2b_|A[KSB]IA|ACCA|AIza|xox[abeoprs]-|xapp-|[sr]k_(?:live|test)_|npm_|pypi-|hf_|vercel_blob_)/,
    longest: 330,
  },
  { begins: /(?<![A-Za-z0-9])(?:gh[pousr]_|x-access-)/, longest: 1_030 },
  { begins: /(?<![A-Za-z0-9])(?:drive9_|dat9_)/, longest: 2_030 },
  { begins: /(?<![A-Za-z0-9])eyJ/, longest: 12_030 },
]

const longestShape = 12_030
const longestKey = 33_000

/** Where something begins, near the end of a text that goes on later, that may still become a credential; the text's length if nothing does. */
export function openShape(text: string): number {
  return Math.min(openToken(text), openKey(text))
}

function openToken(text: string): number {
  let from = text.length
  while (from > 0 && text.length - from < longestShape && isTokenSign(text.charCodeAt(from - 1))) from--
  const places = starts.map(({ begins, longest }) => {
    // One more character tells whether the first of them begins a word.
    const window = Math.max(0, Math.max(from, text.length - longest) - 1)
    const found = begins.exec(text.slice(window))
    return found ? window + found.index : text.length
  })
  return Math.min(...places)
}

const tokenSigns = new Set(
  [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_=+/.%~:-'].map((sign) => sign.charCodeAt(0)),
)
const isTokenSign = (code: number) => tokenSigns.has(code)

/** A private key is open from its header to its footer; the header itself, from its dashes to its dashes. */
function openKey(text: string): number {
  const at = text.lastIndexOf('-----BEGIN ')
  if (at < 0 || text.length - at > longestKey) return text.length
  const rest = text.slice(at)
  const inHeader = /^-----BEGIN [A-Z0-9 ]{0,60}-{0,5}$/.test(rest)
  const inKey = /^-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY/.test(rest) && !/-----END [A-Z0-9 ]{0,60}-----/.test(rest)
  return inHeader || inKey ? at : text.length
}
