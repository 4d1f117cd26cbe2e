"""What a task may have besides the required part of ``Task``: a base class each, which the task's class inherits."""

from agentgauge.core.capabilities.breakdowns import Breakdown as Breakdown
from agentgauge.core.capabilities.breakdowns import Breakdowns as Breakdowns
from agentgauge.core.capabilities.breakdowns import Cell as Cell
from agentgauge.core.capabilities.combined_scores import CombinedScores as CombinedScores
from agentgauge.core.capabilities.oracle import Oracle as Oracle
from agentgauge.core.capabilities.own_options import SAME as SAME
from agentgauge.core.capabilities.own_options import Chosen as Chosen
from agentgauge.core.capabilities.own_options import OwnOptions as OwnOptions
from agentgauge.core.capabilities.own_options import TaskOption as TaskOption
from agentgauge.core.capabilities.own_options import options_of as options_of
from agentgauge.core.capabilities.own_options import role_option as role_option
from agentgauge.core.capabilities.prediction_files import Exporter as Exporter
from agentgauge.core.capabilities.prediction_files import PredictionFiles as PredictionFiles
from agentgauge.core.capabilities.presentation import Artifact as Artifact
from agentgauge.core.capabilities.presentation import Presentation as Presentation
from agentgauge.core.capabilities.presentation import presentation_of as presentation_of
from agentgauge.core.capabilities.prompts import Prompts as Prompts
from agentgauge.core.capabilities.prompts import prompt_version as prompt_version
from agentgauge.core.capabilities.published_rows import PublishedRows as PublishedRows
from agentgauge.core.capabilities.real_tools import RealTools as RealTools
from agentgauge.core.capabilities.similarity import Similarity as Similarity
