// The credentials of known services: what each kind looks like, and where its form is described. Files of a repository and texts of our own are
// searched with the same table.
//
// An anchor is a literal text that begins every credential of the kind, or stands inside it (`*`). A credential is one long word. So the long words of a
// text are taken first, and the text is searched only for the kinds whose anchors and whose form they have. One expression finds all anchors, so no
// anchor begins another one.
// All repetitions are bounded and no two neighbours share characters without a limit, so the search takes linear time.

interface CredentialPattern {
  rule: string
  /** A credential is a word of its own. */
  pattern: RegExp
}

const github = 'https://docs.github.com/en/code-security/reference/secret-security/supported-secret-scanning-patterns'
const gitleaks = 'https://github.com/gitleaks/gitleaks/blob/master/config/gitleaks.toml'
const trufflehog = 'https://github.com/trufflesecurity/trufflehog/tree/main/pkg/detectors'
const issuer = (address: string) => `https://${address}`

const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
/** Upper case, lower case and digits all occur: a name in a program seldom has that. */
const mixed = '(?=[A-Za-z_-]{0,200}[0-9])(?=[a-z0-9_-]{0,200}[A-Z])(?=[A-Z0-9_-]{0,200}[a-z])'

type Row = [rule: string, anchors: string, pattern: string, source: string]

/** Anchors stand apart by spaces. A pattern matches the whole credential. */
const rows: readonly Row[] = [
  // Clouds and hosting
  ['aws-key', 'AKIA ASIA ABIA ACCA', '(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}', gitleaks],
  ['aws-bedrock-key', 'ABSK', 'ABSK[A-Za-z0-9+/]{100,280}={0,2}', gitleaks],
  ['aws-bedrock-key', 'bedrock-api-key-', 'bedrock-api-key-[A-Za-z0-9+/=_-]{20,4000}', gitleaks],
  ['google-key', 'AIza', 'AIza[\\w-]{35}', gitleaks],
  ['google-key', 'AQ.Ab', 'AQ\\.Ab[\\w-]{40,120}', github],
  ['google-key', 'GOCSPX-', 'GOCSPX-[\\w-]{24,100}', github],
  ['google-key', 'ya29.', 'ya29\\.[\\w-]{24,500}', github],
  ['google-key', '1//0', '1//0[\\w-]{38,110}', github],
  ['azure-key', '*Q~', '[\\w~.]{3}\\dQ~[\\w~.-]{31,34}', gitleaks],
  ['azure-key', '*JQQJ99', '[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{26}', github],
  [
    'azure-key',
    '*AzCa *+ASt *+AMC *AzFu *AzSe *APIM *ACDb',
    '[A-Za-z0-9+/]{33,76}(?:AzCa|\\+ASt|\\+AMC|AzFu|AzSe|APIM|ACDb)[A-Za-z0-9+/]{5,8}={0,2}',
    github,
  ],
  ['alibaba-key', 'LTAI', 'LTAI[A-Za-z0-9]{16,24}', gitleaks],
  ['tencent-key', 'AKID', 'AKID[A-Za-z0-9]{32}', github],
  ['yandex-key', 'AQVN', 'AQVN[\\w-]{35,40}', gitleaks],
  ['yandex-key', 't1.', 't1\\.[\\w-]{20,400}={0,2}\\.[\\w-]{86}={0,2}', gitleaks],
  ['digitalocean-token', 'dop_v1_ doo_v1_ dor_v1_', 'do[opr]_v1_[a-f0-9]{64}', gitleaks],
  ['heroku-key', 'HRKU-', 'HRKU-[\\w-]{40,70}', trufflehog],
  ['fly-token', 'fo1_', 'fo1_[\\w-]{43}', gitleaks],
  ['fly-token', 'fm1a_ fm1r_ fm2_', 'fm(?:1[ar]|2)_[A-Za-z0-9+/,_-]{80,4000}={0,3}', gitleaks],
  ['vercel-token', 'vercel_blob_rw_', 'vercel_blob_rw_\\w{20,200}', github],
  ['vercel-token', 'vcp_ vci_ vca_ vcr_ vck_', `vc[piark]_${mixed}[A-Za-z0-9]{24,80}`, github],
  ['netlify-token', 'nfp_ nfc_ nfo_ nfb_ nfu_', 'nf[pcobu]_[A-Za-z0-9]{36}', github],
  ['cloudflare-token', 'v1.0-', 'v1\\.0-[a-f0-9]{24}-[a-f0-9]{146}', gitleaks],
  ['cloudflare-token', 'cfk_ cfut_ cfat_', 'cf(?:k|ut|at)_[A-Za-z0-9]{40,60}', trufflehog],
  ['supabase-key', 'sbp_', 'sbp_[a-z0-9]{40}', trufflehog],
  ['supabase-key', 'sb_secret_', 'sb_secret_[\\w-]{28,60}', github],
  ['planetscale-token', 'pscale_', 'pscale_(?:tkn|pw|oauth)_[\\w=.-]{32,64}', gitleaks],
  ['neon-key', 'napi_', 'napi_[a-z0-9]{60,70}', github],
  ['neon-key', 'npg_', 'npg_[A-Za-z0-9]{10,24}', issuer('neon.com/docs/connect/connect-from-any-app')],
  ['databricks-token', 'dapi', 'dapi[a-f0-9]{32}(?:-\\d)?', gitleaks],
  ['clickhouse-key', '4b1d', '4b1d[A-Za-z0-9]{38}', gitleaks],
  ['pulumi-token', 'pul-', 'pul-[a-f0-9]{40}', gitleaks],
  ['terraform-token', '*.atlasv1.', '[A-Za-z0-9]{14}\\.atlasv1\\.[\\w=-]{60,70}', gitleaks],
  ['vault-token', 'hvs. hvb. hvr.', 'hv[sbr]\\.[\\w-]{24,300}', gitleaks],
  ['vault-token', 's.', `s\\.${mixed}[A-Za-z0-9]{24}`, gitleaks],
  ['doppler-token', 'dp.', 'dp\\.(?:pt|st|ct|sa|scim|audit)\\.(?:[a-z0-9_-]{2,35}\\.)?[A-Za-z0-9]{40,44}', gitleaks],
  ['one-password-token', 'ops_eyJ', 'ops_eyJ[A-Za-z0-9+/]{200,4000}={0,3}', gitleaks],
  ['one-password-key', 'A3-', 'A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}', gitleaks],
  ['age-key', 'AGE-SECRET-KEY-1', 'AGE-SECRET-KEY-1[A-Z0-9]{58}', gitleaks],
  ['tailscale-key', 'tskey-', 'tskey-[a-z]{2,12}-\\w{4,40}-\\w{16,80}', trufflehog],
  ['openshift-token', 'sha256~', 'sha256~[\\w-]{43}', gitleaks],
  ['prefect-key', 'pnu_ pnb_', 'pn[ub]_[A-Za-z0-9]{36}', gitleaks],
  ['scaleway-key', 'SCW', 'SCW[A-Z0-9]{17}', github],
  // Source code and builds
  [
    'github-token',
    'ghp_ gho_ ghu_ ghs_ ghr_',
    'gh[pousr]_(?:[A-Za-z0-9]{36,255}|[0-9]{1,20}_eyJ[\\w.-]{40,1000})',
    gitleaks,
  ],
  ['github-token', 'github_pat_', 'github_pat_\\w{20,255}', gitleaks],
  [
    'gitlab-token',
    'glpat- gldt- glrt- glrtr- glptt- glcbt- glagent- glsoat- glft- glimt- glffct- glwt-',
    'gl(?:pat|dt|rt|rtr|ptt|cbt|agent|soat|ft|imt|ffct|wt)-[\\w-]{20,300}(?:\\.[a-z0-9]{9})?',
    gitleaks,
  ],
  ['gitlab-token', 'gloas-', 'gloas-[\\w-]{64}', gitleaks],
  ['gitlab-token', 'GR1348941', 'GR1348941[\\w-]{20}', gitleaks],
  ['bitbucket-token', 'ATBB BBDC-', 'ATBB[A-Za-z0-9]{32}|BBDC-[A-Za-z0-9+/@_-]{40,50}', trufflehog],
  ['atlassian-token', 'ATATT3 ATCTT3', 'AT[AC]TT3[\\w=+/-]{60,400}', gitleaks],
  ['npm-token', 'npm_', 'npm_[A-Za-z0-9]{36}', gitleaks],
  ['pypi-token', 'pypi-', 'pypi-[\\w-]{50,1000}', gitleaks],
  ['rubygems-key', 'rubygems_', 'rubygems_[a-f0-9]{48}', gitleaks],
  ['crates-token', 'cio', 'cio[A-Za-z0-9]{32}', github],
  ['nuget-key', 'oy2', 'oy2[a-z0-9]{43}', github],
  ['clojars-token', 'CLOJARS_', 'CLOJARS_[a-z0-9]{60}', gitleaks],
  ['docker-token', 'dckr_', 'dckr_(?:pat|oat)_[\\w-]{24,60}', github],
  ['artifactory-key', 'AKCp', 'AKCp[A-Za-z0-9]{60,75}', gitleaks],
  ['artifactory-key', 'cmVmd', 'cmVmd[A-Za-z0-9]{59}', gitleaks],
  ['buildkite-token', 'bkua_', 'bkua_[a-z0-9]{40}', trufflehog],
  ['circleci-token', 'CCIPAT_ CCIPRJ_', 'CCIP(?:AT|RJ)_[A-Za-z0-9]{22}_[a-fA-F0-9]{40}', trufflehog],
  ['sonar-token', 'squ_ sqp_ sqa_', 'sq[upa]_[a-f0-9]{40}', gitleaks],
  ['sourcegraph-token', 'sgp_', 'sgp_(?:(?:[a-fA-F0-9]{16}|local)_)?[a-fA-F0-9]{40}', gitleaks],
  ['postman-key', 'PMAK-', 'PMAK-[a-f0-9]{24}-[a-f0-9]{34}', gitleaks],
  ['octopus-key', 'API-', 'API-[A-Z0-9]{26}', gitleaks],
  ['harness-key', 'pat sat.', '[ps]at\\.[\\w-]{22}\\.[A-Za-z0-9]{24}\\.[A-Za-z0-9]{20}', gitleaks],
  ['readme-key', 'rdme_', 'rdme_[a-z0-9]{70}', gitleaks],
  ['infracost-key', 'ico-', 'ico-[A-Za-z0-9]{32}', gitleaks],
  // Models
  [
    'model-key',
    'sk-',
    `sk-(?:[a-z0-9]{2,10}-){0,2}(?:${mixed}[\\w-]{20,320}|(?=[a-z]{0,40}[0-9][0-9]{0,40}[a-z])[a-z0-9]{32,64})`,
    trufflehog,
  ],
  ['model-key', 'sk-', `sk-lf-${uuid}`, trufflehog],
  ['groq-key', 'gsk_', 'gsk_[A-Za-z0-9]{40,60}', trufflehog],
  ['xai-key', 'xai-', 'xai-\\w{70,90}', trufflehog],
  ['cerebras-key', 'csk-', 'csk-[a-z0-9]{40,60}', github],
  ['replicate-token', 'r8_', 'r8_[\\w-]{37,40}', trufflehog],
  ['perplexity-key', 'pplx-', 'pplx-[A-Za-z0-9]{40,60}', gitleaks],
  ['together-key', 'tgp_v1_', 'tgp_v1_[\\w-]{40,60}', github],
  ['fireworks-key', 'fw_', `fw_${mixed}[A-Za-z0-9]{20,40}`, github],
  ['nvidia-key', 'nvapi-', 'nvapi-[\\w-]{60,70}', trufflehog],
  ['hugging-face-token', 'hf_', 'hf_[A-Za-z]{30,40}', gitleaks],
  ['hugging-face-token', 'hf_', `hf_${mixed}[A-Za-z0-9]{30,60}`, github],
  ['hugging-face-token', 'api_org_', 'api_org_[A-Za-z]{30,40}', gitleaks],
  ['langsmith-key', 'lsv2_', 'lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}', trufflehog],
  ['pinecone-key', 'pcsk_', 'pcsk_\\w{40,80}', trufflehog],
  ['voyage-key', 'pa-', `pa-${mixed}[\\w-]{40,50}`, github],
  ['elevenlabs-key', 'sk_', 'sk_[a-f0-9]{48}', trufflehog],
  ['tavily-key', 'tvly-', 'tvly-(?:dev-|prod-)?[A-Za-z0-9-]{24,60}', github],
  ['firecrawl-key', 'fc-', 'fc-[a-f0-9]{32}', github],
  ['jina-key', 'jina_', 'jina_[a-f0-9]{32}[\\w-]{20,40}', issuer('jina.ai/embeddings')],
  ['wandb-key', 'wandb_v1_', 'wandb_v1_[\\w-]{40,100}', github],
  ['sandbox-key', 'e2b_ sk_', '(?:sk_)?e2b_[A-Za-z0-9]{20,100}', issuer('e2b.dev/docs/api-key')],
  ['drive-key', 'drive9_ dat9_', `(?:drive9|dat9)_${mixed}[\\w=+/.-]{20,4000}`, issuer('github.com/mem9-ai/drive9')],
  // Money
  ['stripe-key', 'sk_ rk_', '[sr]k_(?:live|test|prod)_[A-Za-z0-9]{10,255}', gitleaks],
  ['stripe-key', 'whsec_', 'whsec_[A-Za-z0-9+/]{24,255}={0,2}', github],
  ['square-token', 'sq0', 'sq0(?:atp|csp|idp)-[\\w-]{22,60}', gitleaks],
  ['square-token', 'EAA', 'EAAA[\\w-]{60}', gitleaks],
  [
    'braintree-token',
    'access_token$',
    'access_token\\$(?:production|sandbox)\\$[a-z0-9]{16}\\$[a-f0-9]{32}',
    trufflehog,
  ],
  ['plaid-token', 'access-', `access-(?:sandbox|development|production)-${uuid}`, gitleaks],
  ['shippo-token', 'shippo_', 'shippo_(?:live|test)_[a-fA-F0-9]{40}', gitleaks],
  ['easypost-key', 'EZAK EZTK', 'EZ[AT]K[A-Za-z0-9]{54}', gitleaks],
  ['duffel-token', 'duffel_', 'duffel_(?:test|live)_[\\w=-]{43}', gitleaks],
  ['flutterwave-key', 'FLWSECK', 'FLWSECK(?:_TEST)?-[a-z0-9]{12,40}(?:-X)?', gitleaks],
  ['shopify-token', 'shpat_ shpca_ shppa_ shpss_', 'shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}', gitleaks],
  ['lob-key', 'live_ test_', '(?:live|test)_[a-f0-9]{35}', trufflehog],
  // Messages and mail
  ['slack-token', 'xox', 'xox[abeoprs][.-](?=[A-Za-z-]{0,40}\\d)[A-Za-z0-9.-]{16,255}', gitleaks],
  ['slack-token', 'xapp-', 'xapp-\\d-[A-Za-z0-9-]{20,250}', gitleaks],
  [
    'slack-webhook',
    'hooks.slack.com',
    'hooks\\.slack\\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{24,80}',
    gitleaks,
  ],
  ['discord-webhook', 'discord', 'discord(?:app)?\\.com/api/webhooks/\\d{15,22}/[\\w-]{60,80}', trufflehog],
  ['discord-token', '*.', '[MNO][A-Za-z\\d_-]{22,27}\\.[\\w-]{6}\\.[\\w-]{27,40}', github],
  [
    'teams-webhook',
    '*.webhook.office.com',
    `webhook\\.office\\.com/webhookb2/${uuid}@${uuid}/IncomingWebhook/[a-z0-9]{32}/${uuid}`,
    gitleaks,
  ],
  ['telegram-token', '*:A', '[0-9]{8,12}:A[\\w-]{34}', gitleaks],
  ['sendgrid-key', 'SG.', 'SG\\.[\\w-]{16,32}\\.[\\w-]{32,64}', gitleaks],
  ['sendinblue-key', 'xkeysib- xsmtpsib-', 'x(?:key|smtp)sib-[a-f0-9]{64}-[A-Za-z0-9]{16}', gitleaks],
  ['twilio-key', 'SK', 'SK[0-9a-f]{32}', gitleaks],
  ['mailgun-key', 'key-', 'key-[a-f0-9]{32}', trufflehog],
  ['mailchimp-key', '*-us', '[a-f0-9]{32}-us\\d{1,2}', gitleaks],
  ['resend-key', 're_', 're_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,30}', github],
  ['facebook-token', 'EAA', 'EAA[A-Za-z0-9]{90,400}', gitleaks],
  ['twitter-token', 'AAAAAAAAAAAAAAAAAAAAAA', 'A{22}[A-Za-z0-9%]{60,120}', gitleaks],
  ['dropbox-token', 'sl.', `sl\\.${mixed}[\\w=.-]{130,1400}`, gitleaks],
  // Work
  ['notion-token', 'ntn_', 'ntn_[0-9]{11}[A-Za-z0-9]{35}', gitleaks],
  ['notion-token', 'secret_', 'secret_[A-Za-z0-9]{43}', trufflehog],
  ['linear-key', 'lin_api_ lin_oauth_', 'lin_(?:api|oauth)_[A-Za-z0-9]{40,64}', trufflehog],
  ['figma-token', 'figd_ figo_ figp_ figu_ figr_ figoh_', 'fig(?:d|o|p|u|r|oh|or|uh|ur)_[\\w-]{40,80}', trufflehog],
  ['airtable-token', 'pat', 'pat[A-Za-z0-9]{14}\\.[a-f0-9]{64}', gitleaks],
  ['asana-token', '*/', '[0-9]/[0-9]{16}(?:/[0-9]{16})?:[A-Za-z0-9]{32}', trufflehog],
  ['hubspot-token', 'pat', `pat-(?:na|eu)1-${uuid}`, trufflehog],
  ['contentful-token', 'CFPAT-', 'CFPAT-[\\w-]{43}', trufflehog],
  ['typeform-token', 'tfp_', 'tfp_[\\w.=-]{40,64}', gitleaks],
  ['mapbox-token', 'sk.eyJ', 'sk\\.eyJ[\\w-]{20,300}\\.[\\w-]{20,40}', trufflehog],
  ['adobe-secret', 'p8e-', 'p8e-[A-Za-z0-9]{32}', gitleaks],
  ['maxmind-key', '*_mmk', '[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk', gitleaks],
  ['launchdarkly-key', 'sdk- api-', `(?:sdk|api)-${uuid}`, trufflehog],
  // Watching
  ['grafana-token', 'glsa_', 'glsa_[A-Za-z0-9]{32}_[a-fA-F0-9]{8}', gitleaks],
  ['grafana-token', 'glc_', 'glc_[A-Za-z0-9+/]{32,400}={0,3}', gitleaks],
  ['grafana-token', 'eyJ', 'eyJrIjoi[A-Za-z0-9]{70,400}={0,3}', gitleaks],
  ['sentry-token', 'sntrys_', 'sntrys_[\\w+/=-]{60,600}', gitleaks],
  ['sentry-token', 'sntryu_', 'sntryu_[a-f0-9]{64}', gitleaks],
  ['new-relic-key', 'NRAK- NRII- NRJS-', 'NR(?:AK|II|JS)-[A-Za-z0-9-]{19,40}', gitleaks],
  ['dynatrace-token', 'dt0', 'dt0[a-z]\\d\\d\\.[A-Z0-9]{24}\\.[A-Z0-9]{64}', gitleaks],
  ['posthog-key', 'phx_', 'phx_\\w{43,48}', trufflehog],
  // Any service
  [
    'web-token',
    'eyJ',
    'eyJ[\\w-]{8,3000}\\.eyJ[\\w-]{8,6000}\\.[\\w-]{8,3000}',
    issuer('www.rfc-editor.org/rfc/rfc7519'),
  ],
  [
    'clone-password',
    'x-access-token:',
    'x-access-token:[^\\s@:/]{10,1000}(?=@)',
    issuer('docs.github.com/en/apps/creating-github-apps'),
  ],
]

interface Kind extends CredentialPattern {
  begins: readonly string[]
  contains: readonly string[]
  /** Every credential of the kind is one word. Another one begins with a long word. */
  isWord: boolean
}

/** In the order in which they are looked for. */
export const kinds: readonly Kind[] = rows.map(([rule, anchors, pattern]) => ({
  rule,
  pattern: new RegExp(`(?<![A-Za-z0-9_])(?:${pattern})(?![A-Za-z0-9])`, 'g'),
  begins: anchors.split(' ').filter((anchor) => !anchor.startsWith('*')),
  contains: anchors.split(' ').flatMap((anchor) => (anchor.startsWith('*') ? anchor.slice(1) : [])),
  isWord: !pattern.includes('[^'),
}))

const innerKinds = kinds.filter(({ contains }) => contains.length > 0)

export const anchors: readonly string[] = [...new Set(kinds.flatMap(({ begins }) => begins))]

const kindsByAnchor = new Map(anchors.map((anchor) => [anchor, kinds.filter(({ begins }) => begins.includes(anchor))]))

const anyAnchor = new RegExp(`\\b(?:${anchors.map(escaped).join('|')})`, 'g')

function escaped(text: string): string {
  return text.replace(/[^A-Za-z0-9_-]/g, '\\$&')
}

const longAnchor = anchors.filter((anchor) => anchor.length > 3 || anchor.endsWith('_'))
const wordStart = new RegExp(`^(?:${longAnchor.map(escaped).join('|')})`)

/** A quick look at one word. Kinds with a short or inner anchor are left out. */
export const beginsLikeCredential = (word: string): boolean => wordStart.test(word)

const pairs = new Uint8Array(1 << 16)
for (const anchor of longAnchor) pairs[(anchor.charCodeAt(0) << 8) | anchor.charCodeAt(1)] = 1

/** Whether any word that begins like a credential has these two characters first. */
export const mayBeginCredential = (first: number, second: number): boolean => pairs[(first << 8) | second] === 1

/** The kinds of credentials that the text may hold. Where one is found, others may be uncovered by its redaction. */
export function credentialsIn(text: string): CredentialPattern[] {
  const words = longWords(text)
  const possible = new Set(innerKinds.filter(({ contains }) => contains.some((anchor) => words.includes(anchor))))
  for (const anchor of new Set(words.match(anyAnchor)))
    for (const kind of kindsByAnchor.get(anchor)!) possible.add(kind)
  const isFound = [...possible].some(({ pattern, isWord }) => !isWord || words.search(pattern) >= 0)
  return isFound ? kinds.filter((kind) => possible.has(kind)) : []
}

/** No credential has fewer characters. */
export const shortestCredential = 14

const wordSigns = new Uint8Array(1 << 16)
for (const sign of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_.,~@%:$-')
  wordSigns[sign.charCodeAt(0)] = 1

/** The words that may be credentials, apart by spaces. Only every fourteenth character is looked at outside of words. */
function longWords(text: string): string {
  const isInWord = (index: number) => wordSigns[text.charCodeAt(index)] === 1
  let words = ''
  for (let end = shortestCredential - 1; end < text.length; end += shortestCredential) {
    if (!isInWord(end)) continue
    let start = end
    while (start > 0 && isInWord(start - 1)) start--
    while (end < text.length && isInWord(end)) end++
    if (end - start >= shortestCredential) words += `${text.slice(start, end)} `
  }
  return words
}
