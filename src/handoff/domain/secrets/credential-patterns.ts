// The credentials of well-known services, by how they begin and what follows: the one table that both uses draw from.
//
// Files of a repository hold much that only resembles a key, and each place found there is counted and told (secret-rules.ts): `inFiles` is
// strict, and `accept` may look at the value. What we say ourselves is short and goes out (secret-shapes.ts): `inWords` is generous, and is the
// same as `inFiles` where it is absent. All expressions are bounded: none of them can be made slow by the text it looks at.

export interface Credential {
  rule: string
  /** An expression for the beginning, which is part of the credential. */
  begins: string
  /** What of it is enough to hold a text back that goes on later, where the whole has more than eleven letters. */
  opens?: string
  inFiles: string
  accept?: (value: string) => boolean
  inWords?: string
  /** No more characters than this, its beginning included. */
  longest: number
}

const hasDigit = (value: string) => /\d/.test(value)
const isMixed = (value: string) => /\d/.test(value) && /[A-Z]/.test(value) && /[a-z]/.test(value)
/** The same within an expression: the signs a token is made of, and none that ends a word of a program. */
const mixed = '(?=[A-Za-z_-]{0,200}[0-9])(?=[a-z0-9_-]{0,200}[A-Z])(?=[A-Z0-9_-]{0,200}[a-z])'
/** What no letter or digit may follow. */
const whole = (body: string) => `${body}(?![A-Za-z0-9])`

export const credentials: readonly Credential[] = [
  { rule: 'aws-key', begins: 'A(?:KIA|SIA|BIA|CCA)', inFiles: whole('[A-Z0-9]{16}'), longest: 20 },
  {
    rule: 'github-token',
    begins: 'gh[pousr]_',
    inFiles: '(?:[A-Za-z0-9]{36,255}|[0-9]{1,20}_eyJ[A-Za-z0-9._-]{40,900}[A-Za-z0-9_])',
    inWords: '[A-Za-z0-9][A-Za-z0-9._-]{18,1000}[A-Za-z0-9_]',
    longest: 1_030,
  },
  { rule: 'github-token', begins: 'github_pat_', inFiles: '[A-Za-z0-9_]{20,255}', longest: 270 },
  { rule: 'gitlab-token', begins: 'gl(?:pat|dt|rt|ptt|cbt|agent|soat|ft)-', inFiles: '[\\w-]{20,255}', longest: 270 },
  {
    rule: 'slack-token',
    begins: 'xox[abeoprs]-',
    inFiles: '[A-Za-z0-9-]{16,255}',
    accept: hasDigit,
    inWords: '[A-Za-z0-9-]{10,255}',
    longest: 270,
  },
  {
    rule: 'slack-token',
    begins: 'xapp-',
    inFiles: '[A-Za-z0-9-]{20,255}',
    accept: hasDigit,
    inWords: '[0-9]-[A-Za-z0-9-]{10,250}',
    longest: 270,
  },
  {
    rule: 'slack-webhook',
    begins: 'hooks\\.slack\\.com/services/',
    opens: 'hooks\\.slack',
    inFiles: 'T[A-Z0-9]{6,20}/B[A-Z0-9]{6,20}/[A-Za-z0-9]{16,40}',
    longest: 120,
  },
  { rule: 'stripe-key', begins: '[sr]k_(?:live|test)_', inFiles: '[A-Za-z0-9]{16,255}', longest: 270 },
  { rule: 'stripe-key', begins: 'whsec_', inFiles: '[A-Za-z0-9+/]{24,255}', longest: 270 },
  {
    rule: 'model-key',
    begins: 'sk-',
    inFiles: '(?:[a-z]{2,12}-)?[A-Za-z0-9_-]{20,300}',
    accept: isMixed,
    inWords: `${mixed}[A-Za-z0-9_-]{20,315}`,
    longest: 330,
  },
  { rule: 'npm-token', begins: 'npm_', inFiles: whole('[A-Za-z0-9]{36}'), longest: 40 },
  {
    rule: 'pypi-token',
    begins: 'pypi-',
    inFiles: 'AgE[\\w-]{50,1000}',
    inWords: '[\\w-]{50,1000}',
    longest: 1_030,
  },
  { rule: 'google-key', begins: 'AIza', inFiles: '[0-9A-Za-z_-]{35}(?![\\w-])', longest: 39 },
  { rule: 'google-key', begins: 'GOCSPX-', inFiles: '[0-9A-Za-z_-]{24,100}', longest: 110 },
  { rule: 'google-key', begins: 'ya29\\.', inFiles: '[0-9A-Za-z_-]{24,500}', longest: 510 },
  { rule: 'sendgrid-key', begins: 'SG\\.', inFiles: '[\\w-]{16,32}\\.[\\w-]{32,64}', longest: 100 },
  { rule: 'twilio-key', begins: 'SK', inFiles: '[0-9a-f]{32}(?![0-9a-f])', longest: 34 },
  {
    rule: 'hugging-face-token',
    begins: 'hf_',
    inFiles: whole('[A-Za-z0-9]{34}'),
    inWords: `${mixed}[A-Za-z0-9]{30,60}`,
    longest: 63,
  },
  { rule: 'digitalocean-token', begins: 'do[opr]_v1_', inFiles: '[a-f0-9]{64}', longest: 71 },
  { rule: 'shopify-token', begins: 'shp(?:at|ca|pa|ss)_', inFiles: '[a-fA-F0-9]{32}', longest: 38 },
  {
    rule: 'vercel-token',
    begins: 'vercel_blob_rw_',
    opens: 'vercel_blob',
    inFiles: '[A-Za-z0-9_]{20,200}',
    longest: 220,
  },
  {
    rule: 'sandbox-key',
    begins: '(?:sk_)?e2b_',
    inFiles: '[a-f0-9]{32,64}',
    inWords: '[A-Za-z0-9]{20,100}',
    longest: 110,
  },
  {
    rule: 'drive-key',
    begins: '(?:drive9|dat9)_',
    inFiles: '[A-Za-z0-9_.-]{40,4000}',
    inWords: `${mixed}[A-Za-z0-9_=+/.-]{20,4000}`,
    longest: 4_030,
  },
  {
    rule: 'web-token',
    begins: 'eyJ',
    inFiles: '[A-Za-z0-9_-]{8,3000}\\.eyJ[A-Za-z0-9_-]{8,6000}\\.[A-Za-z0-9_-]{8,3000}',
    longest: 12_030,
  },
]
