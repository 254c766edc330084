import { CodedError, invalidIndex } from '../../base/errors.ts'
import { allModels, isBuildOf, type EmbeddingModel, type Models } from '../contract.ts'
import type { Table } from '../table/lance.ts'
import { readMetadata, type TableMetadata } from '../table/metadata.ts'
import { SCHEMA_VERSION } from '../../migrations/list.ts'
import { migrateTable, unknownVersion } from '../table/migrate.ts'

/** Returns the loaded model of a table's vectors; undefined if it is not loaded. */
export function modelOf({ model, dimension }: TableMetadata, models: readonly EmbeddingModel[]): EmbeddingModel | undefined {
  return models.find((one) => one.id === model && one.dimension === dimension)
}

/** As `modelOf`, or another build of the same checkpoint in the same precision, whose vectors may be equal. */
export function relatedModel(metadata: TableMetadata, models: readonly EmbeddingModel[]): EmbeddingModel | undefined {
  const { model, dimension } = metadata
  return modelOf(metadata, models) ?? models.find((one) => one.dimension === dimension && isBuildOf(model, one))
}

/** True if vectors of the table and of the model can be compared. */
export function isOfModel(metadata: TableMetadata, model: EmbeddingModel): boolean {
  return modelOf(metadata, [model]) !== undefined
}

/** The error, with its remedy, if a valid table cannot be used with these models or this version; undefined if it can. */
export function incompatibility(name: string, metadata: TableMetadata, models: Models): CodedError | undefined {
  const found = unfitSchema(name, metadata) ?? fitModel(name, metadata, models)
  return found instanceof CodedError ? found : undefined
}

/** As `incompatibility`, of a table that is not opened yet: vectors of another build of a loaded checkpoint are compared when it is. */
export function unservable(name: string, metadata: TableMetadata, models: Models): CodedError | undefined {
  const found = unfitSchema(name, metadata) ?? relatedModel(metadata, allModels(models)) ?? fitModel(name, metadata, models)
  return found instanceof CodedError ? found : undefined
}

/** Returns the loaded model of a table's vectors, or an error if it is not loaded; operations without vectors remain possible then. */
export function fitModel(name: string, metadata: TableMetadata, models: Models): EmbeddingModel | CodedError {
  const model = modelOf(metadata, allModels(models))
  if (model !== undefined) return model
  const here = allModels(models).map(({ id, dimension }) => `${id} (${dimension})`)
  return invalidIndex(
    'model',
    `The table "${name}" holds vectors of the model ${metadata.model} (${metadata.dimension} numbers), this process embeds with ${here.join(' and ')}. ` +
      `The table is sound: its passages can be read, exported and deleted. To search it, embed its own texts again (\`cepe index reembed --collection ${name}\`; it stays until the new one is verified), ` +
      `start with the model it was made with (CEPE_RETRIEVER_DIR, or in addition in CEPE_FURTHER_RETRIEVERS), or use another table (CEPE_TABLE).`,
  )
}

/** Returns an error if the table's schema is incompatible with this software. */
export function unfitSchema(name: string, metadata: TableMetadata): CodedError | undefined {
  const unknown = unknownVersion(name, metadata)
  if (unknown !== undefined || metadata.schemaVersion >= SCHEMA_VERSION) return unknown
  const message = `The table "${name}" has schema version ${metadata.schemaVersion}, this software needs ${SCHEMA_VERSION}: run \`cepe migrate --collection ${name}\`, which keeps every passage.`
  return invalidIndex('table', message)
}

/** Reads the table's metadata after automatic migrations (none when read-only). */
export async function migratedMetadata(table: Table, readOnly = false): Promise<TableMetadata> {
  const metadata = await readMetadata(table)
  const isCurrent = metadata.schemaVersion >= SCHEMA_VERSION || unknownVersion('', metadata) !== undefined
  if (readOnly || isCurrent || !(await migrateTable(table, { dryRun: true })).automatic) return metadata
  await migrateTable(table)
  return readMetadata(table)
}

/** As `migratedMetadata`. @throws index_invalid for a table of a schema that this software cannot read */
export async function readableMetadata(name: string, table: Table): Promise<TableMetadata> {
  const metadata = await migratedMetadata(table)
  const error = unfitSchema(name, metadata)
  if (error !== undefined) throw error
  return metadata
}
