// The addresses with which people sign in, as OpenAPI describes them.
import { errorResponses, header, json, type Part, query } from './parts.js'

const redirect: Part = {
  description: 'To the page that Location names',
  headers: { Location: header, 'Set-Cookie': header },
}
export const authPaths: Part = {
  '/api/auth/login': {
    get: {
      operationId: 'beginSignIn',
      summary: 'Sign in with GitHub: open it in a browser',
      security: [{}],
      parameters: [query('return', false, 'the path of this service to come back to; the page itself when absent')],
      responses: { 302: redirect, ...errorResponses(403, 404, 405, 500, 502, 503, 504) },
    },
  },
  '/api/auth/callback': {
    get: {
      operationId: 'endSignIn',
      summary: 'Where GitHub sends the browser back to',
      description:
        'Sets the cookie of the session and leads back to the page. Where it fails, the address of the page has `signin` in its query: `denied`, `expired`, `suspended` or `failed`.',
      security: [{}],
      parameters: [
        query('state', true, 'as the sign-in began with'),
        query('code', false, 'from GitHub'),
        query('error', false, 'from GitHub'),
      ],
      responses: { 302: redirect, ...errorResponses(403, 404, 405, 500, 502, 503, 504) },
    },
  },
  '/api/auth/session': {
    get: {
      operationId: 'readSession',
      summary: 'Who is signed in; renews the session',
      security: [{}, { session: [] }],
      responses: {
        200: json('Session', 'Signed in or not', ['Set-Cookie']),
        ...errorResponses(405, 500, 502, 503, 504),
      },
    },
  },
  '/api/auth/logout': {
    post: {
      operationId: 'signOut',
      summary: 'Sign out: the session ends, and its token on GitHub too',
      security: [{ session: [] }],
      responses: { 204: { description: 'Signed out' }, ...errorResponses(403, 404, 405, 500, 502, 503, 504) },
    },
  },
}
