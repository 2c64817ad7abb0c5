// The guards whose tests `npm run mutants` measures, and the tests of each. A test that runs built files does not see a change of a source.

export interface GuardFile {
  /** Below `src`. */
  file: string
  /** Below `test`, without `.test.ts`. */
  tests: string[]
}

const inDomain = (file: string, ...tests: string[]): GuardFile => ({
  file: `handoff/domain/${file}.ts`,
  tests: tests.map((test) => `handoff/domain/${test}`),
})

export const guardFiles: Record<string, GuardFile[]> = {
  authentication: [
    { file: 'service/auth/authenticate.ts', tests: ['service/authenticate'] },
    { file: 'service/auth/caller.ts', tests: ['service/authenticate'] },
    { file: 'service/auth/session.ts', tests: ['service/auth/session'] },
    { file: 'service/auth/person.ts', tests: ['service/auth/person'] },
    { file: 'service/jobs/job.ts', tests: ['service/job'] },
    { file: 'handoff/clients/github/verify-oidc.ts', tests: ['handoff/clients/github/verify-oidc'] },
    { file: 'handoff/clients/github/webhook-signature.ts', tests: ['handoff/clients/github/webhook-signature'] },
  ],
  authorisation: [
    {
      file: 'handoff/workflows/pull-request/check-permission.ts',
      tests: ['handoff/workflows/pull-request/check-permission'],
    },
    inDomain('answers/parse-ask-comment', 'answers/comment-event'),
    {
      file: 'handoff/workflows/answer/resolve-run.ts',
      tests: ['handoff/workflows/which-run', 'handoff/workflows/answer/resolve-run'],
    },
    { file: 'service/auth/repository-access.ts', tests: ['service/auth/repository-access'] },
  ],
  redaction: [
    {
      file: 'handoff/util/key-text.ts',
      tests: ['handoff/domain/secrets/redactor', 'action/pieces'],
    },
    inDomain('secrets/redactor', 'secrets/redactor', 'secrets/credential-patterns', 'secrets/redact.large'),
    inDomain('secrets/redact-file', 'secrets/redact-file', 'secrets/credential-patterns', 'secrets/redact.large'),
  ],
  'sandbox boundary': [
    inDomain('git-proof', 'git-proof'),
    inDomain('sandbox-protocol-decoder', 'sandbox-protocol-decoder'),
    { file: 'handoff/sandbox/run-program.ts', tests: ['handoff/sandbox/run-program'] },
    {
      file: 'handoff/sandbox/program/forward-records.ts',
      tests: ['handoff/sandbox/program/forward-records'],
    },
    {
      file: 'handoff/sandbox/program/untrusted-file.ts',
      tests: ['handoff/sandbox/program/untrusted-files'],
    },
  ],
  'comment rendering': [
    inDomain('answers/answer-data', 'answers/render-answer'),
    inDomain('answers/render-answer', 'answers/render-answer'),
    inDomain('answers/permalinks', 'answers/permalinks'),
    inDomain('markdown/allowed-links', 'markdown/allowed-links'),
    inDomain('markdown/escape', 'markdown/escape', 'markdown/sanitize'),
    inDomain('markdown/sanitize', 'markdown/sanitize', 'markdown/sizes.large'),
  ],
  'citation verification': [
    inDomain('citations/verify-citations', 'citations/verify-citations', 'citations/verify-citations.large'),
    inDomain('citations/parse-citations', 'citations/parse-citations', 'citations/verify-citations'),
    inDomain('citations/shown-files', 'citations/verify-citations', 'summary/parse-statements'),
    inDomain('citations/cited-lines', 'citations/cited-lines'),
  ],
  fairness: [{ file: 'handoff/workflows/answer/admission.ts', tests: ['handoff/workflows/answer/admission'] }],
  seal: [
    inDomain('handoff-record', 'handoff-record'),
    inDomain('tombstone', 'tombstone'),
    { file: 'handoff/store/find-sealed.ts', tests: ['handoff/store/publish-run'] },
    { file: 'handoff/store/publish-run.ts', tests: ['handoff/store/publish-run'] },
    { file: 'handoff/store/delete-run.ts', tests: ['handoff/store/delete-run'] },
    { file: 'handoff/store/run-access.ts', tests: ['handoff/store/run-access'] },
    { file: 'handoff/store/run-store.ts', tests: ['handoff/store/run-store'] },
    { file: 'handoff/workflows/summarise/verify-run.ts', tests: ['handoff/workflows/summarise/verify-run'] },
  ],
}
