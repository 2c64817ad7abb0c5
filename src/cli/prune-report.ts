// How `npm run prune` shows what it would do and what it did.
import { fullName, type PruneItem, type PrunePlan, type PruneResult, type Repository } from '../handoff/index.js'

const words: Record<PruneItem['kind'], [one: string, many: string]> = {
  run: ['sealed run', 'sealed runs'],
  attempt: ['attempt', 'attempts'],
  pointer: ['pointer', 'pointers'],
  ref: ['ref', 'refs'],
  note: ['note of a seal', 'notes of seals'],
  checkpoint: ['checkpoint', 'checkpoints'],
  service: ['file of the service', 'files of the service'],
}

/** Names come from a drive that others write to. */
const plain = (text: string) => text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '\ufffd')

const nameOf = (repository: Repository) => `${repository.host}/${fullName(repository)}`

export function planAsText(plan: PrunePlan, act: boolean): string {
  const lines: string[] = []
  for (const { repository, kept, items } of plan.repositories) {
    lines.push(
      `${nameOf(repository)}: ${kept.length} sealed ${kept.length === 1 ? 'run stays' : 'runs stay'}, ${amount(items)}.`,
    )
    lines.push(...items.map(itemLine))
  }
  if (plan.service.length > 0) lines.push(`The service: ${amount(plan.service)}.`, ...plan.service.map(itemLine))
  if (plan.repositories.length === 0) lines.push('There is no repository here.')
  lines.push(...plan.notices.map(plain))
  const all = allItems(plan)
  lines.push(`In all ${amount(all)}.`)
  if (!act)
    lines.push(all.length > 0 ? 'Nothing was done. Run it again with --yes to remove this.' : 'There is nothing to do.')
  return `${lines.join('\n')}\n`
}

const allItems = (plan: PrunePlan) => [...plan.repositories.flatMap(({ items }) => items), ...plan.service]

function amount(items: PruneItem[]): string {
  if (items.length === 0) return 'nothing would go'
  const counts = (Object.keys(words) as PruneItem['kind'][]).flatMap((kind) => {
    const count = items.filter((item) => item.kind === kind).length
    return count === 0 ? [] : [`${count} ${words[kind][count === 1 ? 0 : 1]}`]
  })
  const files = items.reduce((sum, item) => sum + item.files, 0)
  return `${counts.join(', ')} would go: ${files} ${files === 1 ? 'file' : 'files'}, ${bytesOf(items)}`
}

function bytesOf(items: PruneItem[]): string {
  const bytes = items.reduce((sum, item) => sum + item.bytes, 0)
  return `${bytes.toLocaleString('en-US')} bytes`
}

const itemLine = (item: PruneItem) => `  ${words[item.kind][0]} ${plain(item.name)} (${item.why}; ${bytesOf([item])})`

export function prunedAsText({ item, outcome, why }: PruneResult): string {
  const outcomeText = why === undefined ? outcome : `${outcome}: ${plain(why)}`
  return `${words[item.kind][0]} ${plain(item.name)} ${outcomeText}\n`
}

const itemData = ({ kind, name, why, files, bytes }: PruneItem) => ({ kind, name, why, files, bytes })

function planData(plan: PrunePlan) {
  const all = allItems(plan)
  return {
    madeAt: plan.madeAt,
    repositories: plan.repositories.map(({ repository, kept, items }) => ({
      repository: nameOf(repository),
      kept,
      remove: items.map(itemData),
    })),
    service: plan.service.map(itemData),
    notices: plan.notices,
    total: {
      items: all.length,
      files: all.reduce((sum, item) => sum + item.files, 0),
      bytes: all.reduce((sum, item) => sum + item.bytes, 0),
    },
  }
}

export const planAsJson = (plan: PrunePlan) => `${JSON.stringify({ ...planData(plan), done: null })}\n`

export function prunedAsJson(plan: PrunePlan, done: readonly PruneResult[]): string {
  const results = done.map(({ item, repository, outcome, why }) => ({
    ...(repository ? { repository: nameOf(repository) } : {}),
    kind: item.kind,
    name: item.name,
    outcome,
    why,
  }))
  return `${JSON.stringify({ ...planData(plan), done: results })}\n`
}
