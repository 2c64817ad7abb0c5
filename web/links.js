// Where a link on this page may lead: to files of the repository that is being asked about, on its own git host. A model's link to anywhere
// else stays words.

/** `handoff` is the run's sealed record. */
export function linksOf({ host, repository, commit }) {
  const home = `/${repository}`.toLowerCase()
  const link = (address) => {
    const url = parsed(address)
    if (!url || !host || url.host !== host.toLowerCase() || url.username !== '' || url.password !== '') return undefined
    const path = url.pathname.toLowerCase()
    const inside =
      path === home || path === `${home}/` || /^\/(?:-\/)?(?:blob|tree|src)\//.test(path.slice(home.length))
    return inside && path.startsWith(home) ? url.href : undefined
  }
  return { link, file: (path, from, to) => fileAddress({ host, repository, commit }, { path, from, to }, link) }
}

function parsed(address) {
  if (typeof address !== 'string' || address.length > 2_000 || !URL.canParse(address)) return undefined
  const url = new URL(address)
  return url.protocol === 'https:' ? url : undefined
}

/** Lines of a file as the git host shows them, for the hosts whose addresses are known. */
function fileAddress({ host, repository, commit }, { path, from, to }, link) {
  if (!host || !path.isWellFormed()) return undefined
  const name = host.toLowerCase().replace(/:\d+$/, '')
  const file = path.split('/').map(encodeURIComponent).join('/')
  if (name === 'github.com' || name.endsWith('.ghe.com') || name.startsWith('github.'))
    return link(`https://${host}/${repository}/blob/${commit}/${file}?plain=1#L${from}${to === from ? '' : `-L${to}`}`)
  if (name === 'gitlab.com' || name.startsWith('gitlab.'))
    return link(`https://${host}/${repository}/-/blob/${commit}/${file}?plain=1#L${from}${to === from ? '' : `-${to}`}`)
  return undefined
}
