// The page as it is published: one script, one style sheet, index.html and the icon. Everything in the folder is public.
import { join } from 'node:path'
import { build } from 'esbuild'

/** Writes the page into `folder`. */
export async function buildPage(root: string, folder: string): Promise<void> {
  await build({
    absWorkingDir: root,
    entryPoints: ['main.ts', 'style.css', 'index.html', 'icon.svg'].map((name) => join('web', name)),
    outdir: folder,
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2023',
    loader: { '.html': 'copy', '.svg': 'copy' },
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'warning',
  })
}
