// Prints the SBOM of what the image installs. With its own --omit, npm sbom also leaves out packages that are needed at
// run time, so what only development needs is removed from copies of package.json and its lock file first.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

const root = path.join(import.meta.dirname, '..')
const read = (name) => JSON.parse(readFileSync(path.join(root, name), 'utf8'))
const manifest = read('package.json')
const lock = read('package-lock.json')

for (const described of [manifest, lock.packages['']]) {
  delete described.devDependencies
  delete described.optionalDependencies
  delete described.allowScripts
}
for (const [place, { dev, optional, devOptional }] of Object.entries(lock.packages)) {
  if (dev || optional || devOptional) delete lock.packages[place]
}

const parent = mkdtempSync(path.join(tmpdir(), 'farewatch-sbom-'))
// npm names the SBOM after its folder.
const folder = path.join(parent, manifest.name)
try {
  mkdirSync(folder)
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify(manifest))
  writeFileSync(path.join(folder, 'package-lock.json'), JSON.stringify(lock))
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only']
  const { status } = spawnSync('npm', args, {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  process.exitCode = status ?? 1
} finally {
  rmSync(parent, { recursive: true })
}
