// `README.md` of a run directory: what each file is, and how to check them, for people who find the directory without handoff.
import { artifact, type Commit, fullName, type RunId, shaOf } from './run.js'

/** Where the whole format and a script that checks a run are described. */
const formatAddress = 'https://github.com/handoff-action/handoff/blob/main/docs/format.md'

export function runReadme({ repository }: Commit, run: RunId): Uint8Array {
  const commit = shaOf(run)
  const clone = artifact.clone(repository)
  const text = `# ${fullName(repository)} at ${commit}

handoff stored and summarised this commit here. A sandbox read it and is gone; only this directory remains.

| file | what it is |
| --- | --- |
| \`${artifact.handoff}\` | the seal: sizes and hashes of all files, who asked, model, cost; written last |
| \`${artifact.summary}\` | the summary, for people |
| \`${artifact.summaryRecord}\` | its statements, each with the lines that prove it |
| \`${clone}\` | the commit: a bare git repository of depth one |
| \`${artifact.files}\`, \`${artifact.outline}\` | each path of the commit; definitions and imports by file |
| \`${artifact.searchTable}\`, \`${artifact.searchPages}\` | for the search: where words stand, and where each object is in the stored clone |
| \`${artifact.diagram}\`, \`analysis/changes/\` | who imports whom; what the commit changes; both may be absent |
| \`${artifact.notes}\` | what the model wrote about parts; the next summary uses it |
| \`${artifact.answers}/\`, \`${artifact.latestAnswer}\` | answers to questions, added after the seal; the latest one for people |

Check that the files are those that were sealed. The first command prints the field \`handoff\` of \`../../commits/${commit}.json\`:

    sha256sum ${artifact.handoff}
    jq -r '.artifacts[] | "\\(.sha256)  \\(.path)"' ${artifact.handoff} | sha256sum --check

A script that also checks the clone, the citations and the answers, and the meaning of each field: <${formatAddress}>
`
  return new TextEncoder().encode(text)
}
