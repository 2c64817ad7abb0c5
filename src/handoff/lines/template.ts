// The template of our sandboxes, built with E2B's own builder: everything that a walk needs is there before the machine starts.
import type { LogEntry } from 'e2b'
import { HandoffError } from '../library/errors.js'
import { installDrive9, installNode } from './e2b/programs.js'
import { asOurs, makeService, type SandboxSettings } from './e2b/service.js'

export interface TemplateSettings extends Omit<SandboxSettings, 'onNotice'> {
  binary: { url: string; sha256: string }
}

export interface BuiltTemplate {
  name: string
  tags: string[]
  templateId: string
  buildId: string
}

const packages = ['ca-certificates', 'curl', 'fuse3', 'git', 'tar']
const machine = { cpuCount: 2, memoryMB: 2_048 }

/** The steps are shown as they are carried out; what they print may be anything. */
export async function buildTemplate(
  settings: TemplateSettings,
  onLog: (line: string) => void,
  signal: AbortSignal,
): Promise<BuiltTemplate> {
  const service = makeService(checked(settings))
  const { Template } = await service.sdk()
  const template = Template()
    .fromUbuntuImage('22.04')
    .aptInstall(packages, { noInstallRecommends: true })
    .runCmd(installNode, { user: 'root' })
    .runCmd(withBinary(settings.binary), { user: 'root' })
    // A mount of one user is readable by others, among them the service's own file API, only when this is allowed.
    .runCmd("grep -qs '^user_allow_other' /etc/fuse.conf || echo user_allow_other >> /etc/fuse.conf", { user: 'root' })
  // Without `default` among them, tags would hide the template from those who ask for it by its bare name.
  const tags = ['default', `drive9-${settings.binary.sha256.slice(0, 12)}`]
  const onBuildLogs = (entry: LogEntry) => onLog(entry.message)
  const options = { ...service.connection(signal), ...machine, tags, onBuildLogs }
  const build = () => Template.build(template, settings.template, options)
  const { templateId, buildId } = await asOurs(signal, `Building the template ${settings.template}`, build)
  return { name: settings.template, tags, templateId, buildId }
}

function checked(settings: TemplateSettings): TemplateSettings {
  const { url, sha256 } = settings.binary
  if (!URL.canParse(url) || new URL(url).protocol !== 'https:') {
    throw new HandoffError('invalid-input', 'DRIVE9_BINARY_URL is not an https address.', { next: howToPin })
  }
  if (!/^[0-9a-f]{64}$/.test(sha256)) {
    throw new HandoffError(
      'invalid-input',
      'DRIVE9_BINARY_SHA256 is not a sha256 in 64 lowercase hexadecimal digits.',
      { next: howToPin },
    )
  }
  if (!/^[a-z0-9][a-z0-9_-]{0,62}$/.test(settings.template) || settings.template === 'base') {
    throw new HandoffError('invalid-input', 'E2B_TEMPLATE cannot name a template that we build.', {
      next: 'Use lowercase letters, digits and dashes, and not “base”, which is E2B’s own.',
    })
  }
  return settings
}

/** The address drive9 itself serves always shows the latest program; only a commit of its release repository stays what it is. */
export const howToPin = [
  'Take the full id of a commit of github.com/mem9-ai/drive9-fe that changed site/releases, set DRIVE9_BINARY_URL to',
  'https://raw.githubusercontent.com/mem9-ai/drive9-fe/<that id>/site/releases/drive9-linux-amd64 and DRIVE9_BINARY_SHA256 to what',
  '`curl -fsSL "$DRIVE9_BINARY_URL" | sha256sum` prints; checksums.txt beside it should say the same.',
].join(' ')

/** A build has no environment of ours, so both stand in the command; neither is a secret, and both were checked for what a shell might read. */
function withBinary({ url, sha256 }: TemplateSettings['binary']): string {
  return `export DRIVE9_BINARY_URL='${new URL(url).href.replaceAll("'", '%27')}' DRIVE9_BINARY_SHA256=${sha256}\n${installDrive9}`
}
