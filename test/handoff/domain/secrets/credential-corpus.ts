// Made-up credentials of many kinds, in the places where people leave them. They are put together at run time, so that no scanner takes this file
// for a leak. `{a40}` stands for forty random characters of alphabet `a`.
import type { Random } from '../../../support/random.js'

const alphabets: Record<string, string> = {
  a: 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789',
  w: 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-',
  b: 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/',
  l: 'abcdefghijklmnopqrstuvwxyz0123456789',
  u: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789',
  v: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567',
  h: '0123456789abcdef',
  d: '0123456789',
}

/** Kinds that are known by their form, wherever they stand. */
export const forms: Record<string, string> = {
  'AWS access key': 'AKIA{v16}',
  'AWS Bedrock': 'ABSK{b132}',
  'Google API': 'AIza{w35}',
  'Google OAuth secret': 'GOCSPX-{w28}',
  'Google access token': 'ya29.{w120}',
  'Azure AD secret': '{a3}8Q~{w34}',
  'Azure storage': '{b76}+ASt{a6}==',
  Alibaba: 'LTAI{a20}',
  DigitalOcean: 'dop_v1_{h64}',
  Heroku: 'HRKU-AA{w58}',
  'Fly.io': 'fo1_{w43}',
  Netlify: 'nfp_{a36}',
  'Cloudflare token': 'cfut_{a40}{h8}',
  Supabase: 'sbp_{h40}',
  PlanetScale: 'pscale_tkn_{w43}',
  Databricks: 'dapi{h32}',
  Pulumi: 'pul-{h40}',
  'Terraform Cloud': '{a14}.atlasv1.{w64}',
  Vault: 'hvs.{w95}',
  Doppler: 'dp.pt.{a43}',
  '1Password': 'ops_eyJ{b300}',
  age: 'AGE-SECRET-KEY-1{u58}',
  Tailscale: 'tskey-auth-{a17}-{a32}',
  'GitHub classic': 'ghp_{a36}',
  'GitHub fine-grained': 'github_pat_11{u20}_{a59}',
  GitLab: 'glpat-{w20}',
  Bitbucket: 'ATBB{a32}',
  Atlassian: 'ATATT3xFfGF0{w170}={u8}',
  npm: 'npm_{a36}',
  PyPI: 'pypi-AgEIcHlwaS5vcmc{w120}',
  RubyGems: 'rubygems_{h48}',
  'crates.io': 'cio{a32}',
  NuGet: 'oy2{l43}',
  'Docker Hub': 'dckr_pat_{w27}',
  Artifactory: 'AKCp{a69}',
  Buildkite: 'bkua_{h40}',
  CircleCI: 'CCIPAT_{a22}_{h40}',
  Sourcegraph: 'sgp_{h16}_{h40}',
  Postman: 'PMAK-{h24}-{h34}',
  'OpenAI project': 'sk-proj-{w74}T3BlbkFJ{w74}',
  'OpenAI classic': 'sk-{a20}T3BlbkFJ{a20}',
  Anthropic: 'sk-ant-api03-{w93}AA',
  OpenRouter: 'sk-or-v1-{h64}',
  DeepSeek: 'sk-{h32}',
  Groq: 'gsk_{a52}',
  xAI: 'xai-{a80}',
  Replicate: 'r8_{a37}',
  Perplexity: 'pplx-{a48}',
  NVIDIA: 'nvapi-{w64}',
  'Hugging Face': 'hf_{a34}',
  LangSmith: 'lsv2_pt_{h32}_{h10}',
  Pinecone: 'pcsk_{a6}_{a63}',
  ElevenLabs: 'sk_{h48}',
  E2B: 'e2b_{h40}',
  'Stripe secret': 'sk_live_{a24}',
  'Stripe webhook': 'whsec_{a32}',
  Square: 'sq0csp-{w43}',
  Plaid: 'access-production-{h8}-{h4}-{h4}-{h4}-{h12}',
  Shopify: 'shpat_{h32}',
  'Slack bot': 'xoxb-{d12}-{d12}-{a24}',
  'Slack app': 'xapp-1-{u11}-{d13}-{h64}',
  'Discord bot': 'M{a25}.{w6}.{w38}',
  Telegram: '{d10}:AA{w33}',
  SendGrid: 'SG.{w22}.{w43}',
  Twilio: 'SK{h32}',
  Mailchimp: '{h32}-us12',
  Resend: 're_{a8}_{a24}',
  Notion: 'ntn_{d11}{a35}',
  Linear: 'lin_api_{a40}',
  Figma: 'figd_{w43}',
  Airtable: 'pat{a14}.{h64}',
  HubSpot: 'pat-na1-{h8}-{h4}-{h4}-{h4}-{h12}',
  Contentful: 'CFPAT-{w43}',
  'Grafana service account': 'glsa_{a32}_{h8}',
  'Sentry user': 'sntryu_{h64}',
  'New Relic': 'NRAK-{u27}',
  Dynatrace: 'dt0c01.{u24}.{u64}',
  PostHog: 'phx_{a43}',
  JWT: 'eyJhbGciOiJIUzI1NiJ9.eyJ{a60}.{w43}',
}

/** Kinds without a form: only what stands beside them tells. The bare value and a name that says nothing are not among their places. */
export const values: Record<string, string> = {
  'AWS secret key': '{b40}',
  Mistral: '{a32}',
  Cohere: '{a40}',
  Datadog: '{h32}',
  'Cloudflare global key': '{h37}',
  'Azure OpenAI': '{h32}',
  Fastly: '{w32}',
  Algolia: '{h32}',
  'random base64': '{b43}=',
  'random lower case': '{l32}',
}

/** Where people leave a key. Each of them names the place in lower, upper or mixed case. */
export const places: Record<string, (key: string) => string> = {
  bare: (key) => `Use this one for the staging system:\n\n${key}\n\nand tell no one.\n`,
  '.env': (key) => `NODE_ENV=production\nSERVICE_API_KEY=${key}\nPORT=3000\n`,
  YAML: (key) => `service:\n  host: example.org\n  token: ${key}\n  retries: 3\n`,
  JSON: (key) => `{\n  "host": "example.org",\n  "apiKey": "${key}",\n  "retries": 3\n}\n`,
  'code string': (key) => `const client = new Client()\nawait client.login('${key}')\nclient.start()\n`,
  'Authorization header': (key) => `curl https://api.example.org/v1/items \\\n  -H "Authorization: Bearer ${key}"\n`,
  'Kubernetes value': (key) => `env:\n  - name: SERVICE_TOKEN\n    value: ${key}\n  - name: PORT\n    value: "80"\n`,
}

/** Passwords that people make up. */
export const passwords = ['Tr0ub4dor&3xyz', 'S3cure!Passw0rd', 'hunter2-Zebra!9', 'kX9#mPq2$vL5nR', 'Winter2024!Munich']

export function makeKey(form: string, random: Random): string {
  return form.replace(/\{([a-z])(\d+)\}/g, (_, alphabet: string, length: string) =>
    Array.from({ length: Number(length) }, () => random.pick([...alphabets[alphabet]!])).join(''),
  )
}
