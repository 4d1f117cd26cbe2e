"""Tools that write and read documents. docs/benchmarks/tools.md#tools-of-gta-workflow."""

from __future__ import annotations

from tool_impls.base import BenchTool
from tool_impls.documents.pdf import PdfFileGenerator
from tool_impls.documents.read_office import ReadDOCX, ReadPPTX
from tool_impls.documents.read_pdf import ReadPDF
from tool_impls.documents.read_tables import ReadCSV, ReadXLSX
from tool_impls.documents.tables import CsvFileGenerator, XlsxFileGenerator
from tool_impls.documents.write_office import DocxFileGenerator, PptxFileGenerator
from tool_impls.documents.writing import HtmlFileGenerator

TOOLS: tuple[type[BenchTool], ...] = (
    CsvFileGenerator,
    XlsxFileGenerator,
    DocxFileGenerator,
    PdfFileGenerator,
    PptxFileGenerator,
    HtmlFileGenerator,
    ReadCSV,
    ReadXLSX,
    ReadDOCX,
    ReadPDF,
    ReadPPTX,
)
