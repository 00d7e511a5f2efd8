import { createReadStream } from 'node:fs'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import path from 'node:path'
import { Readable } from 'node:stream'
import { messageOf } from '../platform/base/errors.ts'
import { flushDirectory, type Measure, unlessMissing } from './durable-files.ts'
import { ExportError } from './public-tables.ts'

/** The store of the place refused an object: the command was right. */
class PlaceError extends ExportError {
  override readonly code = 'export.place'
}

/** Where exports are. A file appears under its name when it is complete. */
export interface ExportPlace {
  /** A folder, or s3://bucket/prefix. */
  readonly name: string
  /** The place among those of all machines. */
  readonly lock: string
  /** A folder of this machine for files that are being written. */
  readonly staging: string
  /** Moves a complete file from the staging folder into a folder here, `''` or one that ends with a slash. */
  put(folder: string, file: string, measure: Measure): Promise<void>
  /** Undefined if there is no such file. */
  read(name: string): Promise<Readable | undefined>
}

type S3 = typeof import('@aws-sdk/client-s3')

/** Throws ExportError. */
export async function openPlace(
  to: string,
  importS3: () => Promise<S3> = () => import('@aws-sdk/client-s3'),
): Promise<ExportPlace> {
  if (!to.startsWith('s3:')) return folderPlace(path.resolve(to))
  const s3 = await importS3().catch((cause: unknown) => {
    throw new ExportError('an export to S3 needs a package: npm install @aws-sdk/client-s3', {
      cause,
    })
  })
  return bucketPlace(to, s3)
}

/** A killed export leaves its staging folder, and the next one empties it. */
export async function withStaging<T>({ staging }: ExportPlace, work: () => Promise<T>): Promise<T> {
  await rm(staging, { recursive: true, force: true })
  await mkdir(staging, { recursive: true })
  return work().finally(() => rm(staging, { recursive: true, force: true }))
}

function folderPlace(folder: string): ExportPlace {
  const staging = path.join(folder, '.partial')
  return {
    name: folder,
    lock: `${hostname()} ${folder}`,
    staging,
    put: async (below, file) => {
      const target = path.join(folder, below)
      await mkdir(target, { recursive: true })
      await rename(path.join(staging, file), path.join(target, file))
      await flushDirectory(target)
      await flushDirectory(folder)
    },
    read: async (name) => {
      const handle = await unlessMissing(open(path.join(folder, name)))
      return handle?.createReadStream()
    },
  }
}

/** The client reads its endpoint, its region and its credentials from the variables and files of AWS. */
function bucketPlace(to: string, s3: S3): ExportPlace {
  const [, bucket, prefix = ''] = /^s3:\/\/([^/]+)(?:\/(.*?))?\/*$/.exec(to) ?? []
  if (bucket === undefined) throw new ExportError(`${to} is not s3://bucket/prefix`)
  // Servers other than Amazon's have no host name for each bucket.
  const client = new s3.S3Client({ forcePathStyle: true })
  const staging = path.join(tmpdir(), `farewatch-export-${process.pid}`)
  const objectOf = (name: string) => ({ Bucket: bucket, Key: path.posix.join(prefix, name) })
  const refuse = (name: string) => (cause: Error) => {
    throw new PlaceError(`${to}: ${name}: ${cause.name}: ${messageOf(cause)}`, { cause })
  }
  return {
    name: to,
    lock: to,
    staging,
    put: async (below, file, { bytes, sha256 }) => {
      const name = below + file
      const ChecksumSHA256 = Buffer.from(sha256, 'hex').toString('base64')
      const Body = createReadStream(path.join(staging, file))
      const object = { ...objectOf(name), Body, ContentLength: bytes, ChecksumSHA256 }
      await client.send(new s3.PutObjectCommand(object)).catch(refuse(name))
    },
    read: async (name) => {
      const object = await client
        .send(new s3.GetObjectCommand(objectOf(name)))
        .catch((err: Error) => (err.name === 'NoSuchKey' ? undefined : refuse(name)(err)))
      return object?.Body instanceof Readable ? object.Body : undefined
    },
  }
}
