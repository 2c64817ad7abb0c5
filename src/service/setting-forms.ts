// The valid form of each setting, in words.
import { permissions, productAddresses, productCounts } from './settings.js'

const addressForm = 'an http(s) address without a user name'
const secureAddressForm = 'an https address'
const numberForm = 'a number that is not less than 0'

const expectedForms: Record<string, string> = {
  ...Object.fromEntries(
    [...productAddresses, 'HANDOFF_QUEUE_URL', 'GITHUB_SERVER_URL', 'GITHUB_API_URL'].map((name) => [
      name,
      addressForm,
    ]),
  ),
  ...Object.fromEntries(productCounts.map((name) => [name, 'a whole number above 0'])),
  DRIVE9_BINARY_URL: secureAddressForm,
  DRIVE9_BINARY_SHA256: '64 hexadecimal digits',
  DRIVE9_ROOT: 'a path such as /handoff, of letters, digits, dots and dashes',
  HANDOFF_OIDC_ISSUER: secureAddressForm,
  HANDOFF_OIDC_REPOSITORIES: 'the repositories whose jobs may ask: owner/name, owner/* or *, separated by commas',
  HANDOFF_CALLER_TOKENS: 'as many tokens as one question may take, or more',
  HANDOFF_CALLER_COST: 'as many US dollars as one question may cost, or more, for a model whose price is known',
  HANDOFF_APP_ID: "the App's id, which its private key needs beside it",
  HANDOFF_APP_PRIVATE_KEY: "the App's private key as GitHub gives it, beside HANDOFF_APP_ID",
  HANDOFF_APP_CLIENT_ID: 'the client id of the App, beside the three other settings of signing in',
  HANDOFF_APP_CLIENT_SECRET: 'a client secret of the App, beside HANDOFF_APP_CLIENT_ID',
  HANDOFF_SESSION_SECRET:
    '32 random characters or more, such as openssl rand -base64 32 prints, beside HANDOFF_APP_CLIENT_ID',
  HANDOFF_SIGN_IN_REPOSITORIES:
    'the repositories that people may ask about: owner/* or owner/name, separated by commas, beside HANDOFF_APP_CLIENT_ID',
  HANDOFF_BEARERS: 'entries as npm run token makes them: name=sha256 of the token=owner/*, separated by semicolons',
  HANDOFF_ASK_PERMISSION: `one of ${permissions.join(', ')}`,
  HANDOFF_HOSTS: 'host names such as handoff.example.org, separated by commas',
  HANDOFF_CORS_ORIGINS: 'origins such as https://docs.example.org, separated by commas',
  LLM_REASONING_EFFORT: 'an effort that the model knows, such as low',
}

/** Describes the valid form of a setting. */
export const expectedForm = (name: string): string => expectedForms[name] ?? numberForm
