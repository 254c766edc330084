import { HubApiError, listFiles, modelInfo } from '@huggingface/hub'
import { CodedError, invalidRequest, messageOf, notFound } from '../../base/errors.ts'

export interface Hub {
  /** Address without a trailing slash. */
  readonly url: string
  readonly token: string | null
}

export interface HubFile {
  readonly path: string
  readonly size: number
  /** SHA-256 (hex) of files in large file storage; null for small ones, which are identified by their git blob. */
  readonly sha256: string | null
  /** SHA-1 of the git blob. */
  readonly blob: string
}

/** Resolves a revision (branch, tag or commit) to a commit. @throws not_found, forbidden, hub_unreachable */
export async function commitOf(hub: Hub, repository: string, revision: string): Promise<string> {
  const { sha } = await asking(repository, revision, () =>
    modelInfo({ name: repository, revision, additionalFields: ['sha'], hubUrl: hub.url, ...credentials(hub) }),
  )
  return sha
}

/** All files of a commit. @throws not_found, forbidden, hub_unreachable */
export async function filesOf(hub: Hub, repository: string, commit: string): Promise<readonly HubFile[]> {
  return asking(repository, commit, async () => {
    const files: HubFile[] = []
    for await (const { type, path, size, lfs, oid } of listFiles({
      repo: repository,
      revision: commit,
      recursive: true,
      hubUrl: hub.url,
      ...credentials(hub),
    })) {
      if (type === 'file') files.push({ path, size, sha256: lfs?.oid ?? null, blob: oid ?? '' })
    }
    return files
  })
}

function credentials({ token }: Hub): { accessToken?: string } {
  if (token !== null && !/^hf_[!-~]*$/.test(token))
    throw invalidRequest('HF_TOKEN', 'HF_TOKEN holds no access token of a Hugging Face hub: those are "hf_", then letters and digits.')
  return token === null ? {} : { accessToken: token }
}

async function asking<Result>(repository: string, revision: string, ask: () => Promise<Result>): Promise<Result> {
  try {
    return await ask()
  } catch (cause) {
    if (cause instanceof CodedError) throw cause
    throw hubError(repository, revision, cause instanceof HubApiError ? cause.statusCode : undefined, cause)
  }
}

/** The error for a hub's HTTP status; undefined: it was not reached. */
export function hubError(repository: string, revision: string, status: number | undefined, cause?: unknown): CodedError {
  if (status === 401 || status === 403) {
    const message = `The hub does not give out ${repository}: it is gated, private or missing. Accept its terms on the hub, and set HF_TOKEN to a token of that account.`
    return new CodedError('forbidden', message, { field: repository, cause })
  }
  if (status === 404) return notFound(repository, `The hub has no model ${repository} at revision ${revision}.`, cause)
  const what = status === undefined ? messageOf(cause) : `status ${status}`
  return new CodedError('hub_unreachable', `The hub does not answer for ${repository} (${what}). Repeat the command to resume.`, {
    field: repository,
    cause,
  })
}
