// A small repository that questions can be asked about: what it says, and where, is known to the tests of every entry point.

/** `refreshToken` stands in line 4. */
export const tokenSource = [
  'const hour = 3_600_000',
  '',
  '/** Refreshes the token when it is older than an hour. */',
  'export async function refreshToken(token: Token): Promise<Token> {',
  '  if (Date.now() - token.issuedAt < hour) return token',
  '  return requestToken(token.account)',
  '}',
  '',
].join('\n')

export const tokenFiles = {
  'README.md': '# Tools\n\nTools that refresh tokens.\n',
  'src/token.ts': tokenSource,
  'src/other.ts': 'export const colour = "green"\n',
}
